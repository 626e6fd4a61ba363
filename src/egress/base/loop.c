/* loop.c: waits for descriptors and times in one thread. */
#include "egress/base/loop.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/mem.h"

enum { EVENTS_MAX = 128, GROW = 64 };

int
loop_open(struct loop *l, struct err *e)
{
	*l = (struct loop){ .over = false };
	if (poller_open(&l->poller) < 0)
		return err_errno(e, "epoll");
	return 0;
}

static void
release_dead(struct loop *l)
{
	/* release() may bury more */
	for (size_t i = 0; i < l->dead; i++)
		l->graves[i].release(l->graves[i].owner);
	l->dead = 0;
}

void
loop_close(struct loop *l)
{
	release_dead(l);
	poller_close(&l->poller);
	free(TAKE(l->heap));
	free(TAKE(l->graves));
}

/* ---- descriptors */

int
loop_watch(struct loop *l, struct loop_watch *w, int fd, uint32_t events)
{
	int rc;

	if (events == 0) {
		loop_forget(l, w);
		return 0;
	}
	if (w->fd == fd && w->events == events)
		return 0;
	/* a change is for the same descriptor */
	if (w->fd != fd)
		loop_forget(l, w);
	rc = w->events == 0 ? poller_add(&l->poller, fd, events, w)
			    : poller_change(&l->poller, fd, events, w);
	w->fd = rc == 0 ? fd : -1;
	w->events = rc == 0 ? events : 0;
	return rc;
}

void
loop_forget(struct loop *l, struct loop_watch *w)
{
	if (w->events != 0)
		poller_remove(&l->poller, w->fd);
	w->events = 0;
	w->fd = -1;
}

/* ---- timers: a binary heap */

static void
place(struct loop *l, struct loop_timer *t, size_t i)
{
	l->heap[i] = t;
	t->index = i;
}

static void
sift_up(struct loop *l, struct loop_timer *t, size_t i)
{
	for (; i > 1 && l->heap[i / 2]->at_ms > t->at_ms; i /= 2)
		place(l, l->heap[i / 2], i);
	place(l, t, i);
}

static void
sift_down(struct loop *l, struct loop_timer *t, size_t i)
{
	for (size_t child; (child = 2 * i) <= l->timers; i = child) {
		if (child < l->timers &&
		    l->heap[child + 1]->at_ms < l->heap[child]->at_ms)
			child++;
		if (l->heap[child]->at_ms >= t->at_ms)
			break;
		place(l, l->heap[child], i);
	}
	place(l, t, i);
}

void
loop_set(struct loop *l, struct loop_timer *t, int64_t at_ms)
{
	loop_clear(l, t);
	t->at_ms = at_ms;
	if (l->timers + 2 > l->heap_size) {
		l->heap_size += GROW + l->heap_size;
		l->heap = xrealloc(l->heap, l->heap_size * sizeof(*l->heap));
	}
	sift_up(l, t, ++l->timers);
}

void
loop_clear(struct loop *l, struct loop_timer *t)
{
	struct loop_timer *last;
	size_t i = t->index;

	if (i == 0)
		return;
	t->index = 0;
	last = l->heap[l->timers--];
	if (last == t)
		return;
	if (i > 1 && l->heap[i / 2]->at_ms > last->at_ms)
		sift_up(l, last, i);
	else
		sift_down(l, last, i);
}

static void
fire_due(struct loop *l)
{
	int64_t now = clock_ms();

	/* one that sets itself to a past time must not keep the loop here */
	for (size_t n = l->timers;
	     n > 0 && l->timers > 0 && l->heap[1]->at_ms <= now; n--) {
		struct loop_timer *t = l->heap[1];

		loop_clear(l, t);
		t->fire(t);
	}
}

/* ---- the round */

void
loop_bury(struct loop *l, void *owner, void (*release)(void *owner))
{
	if (l->dead == l->grave_size) {
		l->grave_size += GROW + l->grave_size;
		l->graves =
		    xrealloc(l->graves, l->grave_size * sizeof(*l->graves));
	}
	l->graves[l->dead++] =
	    (struct loop_grave){ .release = release, .owner = owner };
}

void
loop_round(struct loop *l, const sigset_t *mask)
{
	struct epoll_event ev[EVENTS_MAX];
	int ms = l->timers > 0 ? clock_left_ms(l->heap[1]->at_ms) : -1;
	int n = poller_wait(&l->poller, ev, EVENTS_MAX, ms, mask);

	for (int i = 0; i < n; i++) {
		struct loop_watch *w = ev[i].data.ptr;

		/* an earlier event of this round may have ended the watch */
		if ((w->events & ev[i].events) != 0 ||
		    (w->events != 0 &&
			(ev[i].events & (EPOLLERR | EPOLLHUP)) != 0))
			w->ready(w, ev[i].events);
	}
	fire_due(l);
	release_dead(l);
}
