/*
 * waiter.h: waits for something to happen to a session.
 *
 * Begin, look, wait, look again: every change since the beginning is notified.
 * Each store has one waiter at a time.
 */
#ifndef SANDLEASE_CONTROL_WAITER_H
#define SANDLEASE_CONTROL_WAITER_H

#include "store/listen.h"

enum { WAITER_ID_MAX = 24 };

struct waiter {
	struct store *store;    /* borrowed; NULL: it did not begin */
	char id[WAITER_ID_MAX]; /* of its row, "": none */
};

/* Begins to wait; call waiter_end() even if this fails. */
int waiter_begin(struct waiter *w, struct store *st, const char *session,
    const char *tenant, int64_t deadline_ms, struct err *e) MUST_CHECK;

/* Best effort: a row that is left is removed when its time is over. */
void waiter_end(struct waiter *w);

#endif
