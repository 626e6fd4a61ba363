/*
 * keys.h: whether the keys that opened streams still count.
 *
 * The pool may not wait for the database, so a process beside it asks: every
 * second, about all keys that have a stream open.  Rows are asked, not
 * listened to: nothing is missed while the database or this process was away.
 */
#ifndef SANDLEASE_API_STREAM_KEYS_H
#define SANDLEASE_API_STREAM_KEYS_H

#include "api/stream/link.h"
#include "common/conf.h"

struct stream_keys {
	int fd;         /* owned; -1: the process does not run */
	int64_t ask_ms; /* when to ask again; with no answer by then, another */
	int waiting;    /* for so many answers */
};

/* How long until there is something to ask; -1: not by the clock. */
int stream_keys_wait_ms(const struct stream_keys *k, const struct streams *all);

/*
 * Asks, if it is time to.  The answer comes as an event of the streams' poller
 * with `k` as its data.
 */
void stream_keys_ask(struct stream_keys *k, const struct conf *conf,
    struct streams *all);

/* Reads an answer, and cuts the streams of keys that count no more. */
void stream_keys_answer(struct stream_keys *k, struct streams *all);

#endif
