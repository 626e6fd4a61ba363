/*
 * serve.h: the threads of the data plane.
 *
 * Each is a FastCGI accept loop on the same listening socket.  There is
 * always one that waits, up to SERVE_THREADS_MAX; those that a burst has
 * made end when it is over.  Streams, which may stay for hours, have at most
 * SERVE_STREAMS_MAX of them, so that other calls find one.
 */
#ifndef SANDLEASE_AGENT_BASE_SERVE_H
#define SANDLEASE_AGENT_BASE_SERVE_H

#include "common/err.h"
#include "web/call.h"

enum {
	SERVE_THREADS_MAX = 512,
	SERVE_STREAMS_MAX = 400,
	SERVE_THREADS_MIN = 8
};

typedef void serve_fn(struct call *c);

/* Starts serving; returns when the first threads wait. */
int serve_start(int listen_fd, serve_fn *handle, struct err *e) MUST_CHECK;

/*
 * Calls whose answer is not out yet.  serve_start()'s count themselves; who
 * serves calls in another way says when one begins and when its answer is out.
 */
void serve_begin(void);
void serve_end(void);
int serve_in_hand(void);

/* A detached thread with a small stack.  -1 with errno when there is none. */
int serve_thread(void *(*run)(void *arg), void *arg);

#endif
