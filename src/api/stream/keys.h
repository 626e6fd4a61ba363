/*
 * keys.h: cuts the streams of keys that are no longer valid.
 *
 * The pool must not wait for the database.  So a process beside it asks the
 * database every second about all keys that have a stream open.  It polls rows
 * and does not LISTEN, so that nothing is missed after the database or the
 * process was down.
 */
#ifndef SANDLEASE_API_STREAM_KEYS_H
#define SANDLEASE_API_STREAM_KEYS_H

#include "api/stream/link.h"
#include "common/conf.h"

struct stream_keys {
	int fd;         /* owned; -1: the process does not run */
	int64_t ask_ms; /* when to ask again, or to replace a silent process */
	int waiting;    /* number of answers that are due */
};

/* Milliseconds until stream_keys_ask() has work; -1: no stream is open. */
int stream_keys_wait_ms(const struct stream_keys *k, const struct streams *all);

/*
 * Sends a question if it is time.  The answer arrives as an event of the
 * streams' poller with `k` as its data.
 */
void stream_keys_ask(struct stream_keys *k, const struct conf *conf,
    struct streams *all);

/* Reads an answer, and cuts the streams of keys that are no longer valid. */
void stream_keys_answer(struct stream_keys *k, struct streams *all);

#endif
