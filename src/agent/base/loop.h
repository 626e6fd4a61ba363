/*
 * loop.h: one thread that waits for many descriptors.
 *
 * Relays, processes and abandoned pipes live here, so that none of them needs a
 * thread.  It is started by the first who needs it; an idle session has none.
 */
#ifndef SANDLEASE_AGENT_BASE_LOOP_H
#define SANDLEASE_AGENT_BASE_LOOP_H

#include <stdint.h>

#include "common/err.h"

/* What the loop knows of a descriptor; the first member of its owner. */
struct loop_item {
	void (*ready)(struct loop_item *item, uint32_t events);
};

/* Runs fn in the loop's thread and returns when it has. */
int loop_call(void (*fn)(void *arg), void *arg, struct err *e) MUST_CHECK;

/* In the loop's thread only.  `events` as in epoll(7), level triggered. */
int loop_watch(int fd, uint32_t events, struct loop_item *item);
void loop_change(int fd, uint32_t events, struct loop_item *item);
void loop_forget(int fd);

/* Called about once a second while the loop runs; there are few of them. */
void loop_each_second(void (*fn)(void));

#endif
