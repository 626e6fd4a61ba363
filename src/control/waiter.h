/*
 * waiter.h: waiting for something to happen to a session.
 *
 * Begin, look, wait, look again: whatever is written from the beginning on is
 * told.  One waits at a time for each store.
 */
#ifndef SANDLEASE_CONTROL_WAITER_H
#define SANDLEASE_CONTROL_WAITER_H

#include "store/listen.h"

enum { WAITER_ID_MAX = 24 };

struct waiter {
	struct store *store;    /* borrowed; NULL: it did not begin */
	char id[WAITER_ID_MAX]; /* of its row, "": none */
};

/* Ended by waiter_end() in any case. */
int waiter_begin(struct waiter *w, struct store *st, const char *session,
    const char *tenant, int64_t deadline_ms, struct err *e) MUST_CHECK;

/* Best effort: what is left is removed when its time is over. */
void waiter_end(struct waiter *w);

#endif
