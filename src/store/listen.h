/*
 * listen.h: waits for notifications of the database (LISTEN/NOTIFY).
 *
 * A store listens for one caller at a time.  Statements may be run between
 * listen_begin and listen_end; notifications that arrive meanwhile are kept.
 * If the connection is lost, so is the LISTEN: listen_wait then fails.
 */
#ifndef SANDLEASE_STORE_LISTEN_H
#define SANDLEASE_STORE_LISTEN_H

#include "store/store.h"

enum listen_why {
	LISTEN_TOLD, /* a notification has arrived */
	LISTEN_TIME, /* the deadline, or a signal */
	LISTEN_GONE  /* the other descriptor's peer has hung up */
};

/* From now on listen_wait reports what is notified on `channel`. */
int listen_begin(struct store *st, const char *channel, struct err *e)
    MUST_CHECK;

/*
 * Waits for a notification, or until the peer of `other_fd` (-1: none) hangs
 * up, or until deadline_ms; *why says which.
 */
int listen_wait(struct store *st, int other_fd, int64_t deadline_ms,
    enum listen_why *why, struct err *e) MUST_CHECK;

/*
 * For a caller with a loop of its own: the descriptor to wait on (-1: there is
 * no connection), and what has arrived on it.  `told` gets the text of each
 * notification.
 */
int listen_fd(struct store *st);
int listen_take(struct store *st, void (*told)(void *ctx, const char *text),
    void *ctx, struct err *e) MUST_CHECK;

/*
 * Proves that the connection still listens: `stmt`, which has no parameters,
 * must answer a row before deadline_ms.  `told` gets what arrives meanwhile.  The
 * server sends what other connections have notified before it says that the
 * statement is done, so whatever was committed before this call has been told
 * when it returns 0.
 */
int listen_prove(struct store *st, enum stmt stmt, int64_t deadline_ms,
    void (*told)(void *ctx, const char *text), void *ctx, struct err *e)
    MUST_CHECK;

/* Best effort: if UNLISTEN fails, the connection is closed. */
void listen_end(struct store *st);

#endif
