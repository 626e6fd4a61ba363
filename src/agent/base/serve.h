/*
 * serve.h: runs the threads that serve the wrapper's calls.
 *
 * Each thread is a FastCGI accept loop on the same listening socket.  A thread
 * that takes a call while no other waits starts another thread, up to
 * SERVE_THREADS_MAX.  Of those made for a burst of calls SERVE_THREADS_KEPT stay
 * after it; a session that was never busy has fewer, because each costs memory.
 * Streams may stay open for hours, so they get at most SERVE_STREAMS_MAX threads
 * and leave the rest to other calls.
 */
#ifndef SANDLEASE_AGENT_BASE_SERVE_H
#define SANDLEASE_AGENT_BASE_SERVE_H

#include <stdbool.h>

#include "common/err.h"
#include "web/call.h"

enum {
	SERVE_THREADS_MAX = 512,
	SERVE_STREAMS_MAX = 400,
	SERVE_THREADS_FIRST = 2,
	SERVE_THREADS_KEPT = 8
};

typedef void serve_fn(struct call *c);

/* Starts the first threads, and returns. */
int serve_start(int listen_fd, serve_fn *handle, struct err *e) MUST_CHECK;

/*
 * The number of calls whose answer is not sent yet.  serve_start()'s threads
 * count their own calls.  Code that serves calls in another way (a WebSocket)
 * uses serve_begin(), and serve_end() after the answer.
 */
void serve_begin(void);
void serve_end(void);
int serve_in_hand(void);

/*
 * Whether the calling thread has a call while no other thread can take one:
 * where the tenant's processes use up the limit, no thread can be added.  It must
 * not stay away for long, so it refuses streams.
 */
bool serve_is_alone(void);

/* Starts a detached thread with a small stack.  -1 with errno. */
int serve_thread(void *(*run)(void *arg), void *arg);

#endif
