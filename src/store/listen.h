/*
 * listen.h: being told by the database that something has happened.
 *
 * One waits at a time.  Between listen_begin and listen_end statements may be
 * run; what is notified meanwhile is kept.  A connection that is lost takes the
 * listening along: listen_wait says so.
 */
#ifndef SANDLEASE_STORE_LISTEN_H
#define SANDLEASE_STORE_LISTEN_H

#include "store/store.h"

enum listen_why {
	LISTEN_TOLD,
	LISTEN_TIME, /* the deadline, or a signal */
	LISTEN_GONE  /* the other descriptor's peer has hung up */
};

/* What is notified on the channel from now on will be told. */
int listen_begin(struct store *st, const char *channel, struct err *e)
    MUST_CHECK;

/* Waits; `other_fd` is watched for its peer hanging up, -1 for none. */
int listen_wait(struct store *st, int other_fd, int64_t deadline_ms,
    enum listen_why *why, struct err *e) MUST_CHECK;

/* Best effort: what cannot be ended is ended with its connection. */
void listen_end(struct store *st);

#endif
