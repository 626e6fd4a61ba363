/*
 * loop.h: waits for descriptors and times in one thread.
 *
 * A watch and a timer are members of the struct that owns them.  An owner that
 * ends while the loop handles events must not free itself at once, because a
 * later event of the same round may point to it: it gives itself to
 * loop_bury().
 */
#ifndef SANDLEASE_EGRESS_BASE_LOOP_H
#define SANDLEASE_EGRESS_BASE_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "common/err.h"
#include "common/poller.h"

struct loop_watch {
	void (*ready)(struct loop_watch *w, uint32_t events);
	int fd;          /* borrowed; -1: not watched */
	uint32_t events; /* of epoll(7), level triggered */
};

struct loop_timer {
	void (*fire)(struct loop_timer *t);
	int64_t at_ms; /* of clock_ms() */
	size_t index;  /* in the heap, from 1; 0: not set */
};

struct loop_grave {
	void (*release)(void *owner);
	void *owner;
};

struct loop {
	struct poller poller;
	struct loop_timer **heap; /* from index 1; the soonest first */
	size_t timers, heap_size;
	struct loop_grave *graves;
	size_t dead, grave_size;
	bool over;
};

int loop_open(struct loop *l, struct err *e) MUST_CHECK;
void loop_close(struct loop *l);

/*
 * Watches w->fd for `events`; 0 stops watching.  -1 and errno if the kernel
 * refuses: then the descriptor is not watched.
 */
int loop_watch(struct loop *l, struct loop_watch *w, int fd, uint32_t events)
    MUST_CHECK;
/* Stops watching; before the descriptor is closed. */
void loop_forget(struct loop *l, struct loop_watch *w);

/* Sets or moves a timer; it fires once. */
void loop_set(struct loop *l, struct loop_timer *t, int64_t at_ms);
void loop_clear(struct loop *l, struct loop_timer *t);

/* Calls release(owner) after this round. */
void loop_bury(struct loop *l, void *owner, void (*release)(void *owner));

/* One round: waits, handles events, fires timers, releases the buried. */
void loop_round(struct loop *l, const sigset_t *mask);

#endif
