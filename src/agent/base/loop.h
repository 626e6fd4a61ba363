/*
 * loop.h: waits for many descriptors in one thread.
 *
 * Relays, background processes and drained pipes share this thread, so that
 * none of them needs its own.  The first loop_call() starts the thread; an idle
 * session has none.
 */
#ifndef SANDLEASE_AGENT_BASE_LOOP_H
#define SANDLEASE_AGENT_BASE_LOOP_H

#include <stdint.h>

#include "common/err.h"

enum { LOOP_CHUNK = 64 * 1024 };

/* The callback of a descriptor; must be the first member of its struct. */
struct loop_item {
	void (*ready)(struct loop_item *item, uint32_t events);
};

/* Runs fn in the loop's thread, and returns after fn has returned. */
int loop_call(void (*fn)(void *arg), void *arg, struct err *e) MUST_CHECK;

/* Only in the loop's thread.  `events` as in epoll(7), level triggered. */
int loop_watch(int fd, uint32_t events, struct loop_item *item);
void loop_change(int fd, uint32_t events, struct loop_item *item);
void loop_forget(int fd);

/*
 * LOOP_CHUNK bytes for one read in the loop's thread; the next callback writes
 * over them.  An idle session has no loop, so they are no static array: the
 * pages around such an array hold little that is used.
 */
char *loop_chunk(void);

/* Calls fn about once a second.  There is room for only a few functions. */
void loop_each_second(void (*fn)(void));

#endif
