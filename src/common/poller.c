/*
 * poller.c: waits for descriptors with epoll, and poll() where epoll refuses.
 */
#include "common/poller.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "common/mem.h"

enum { MS_PER_S = 1000, NS_PER_MS = 1000 * 1000 };

/* The low bits have the same meaning for poll(), which has no others. */
static short
poll_events(uint32_t events)
{
	return (short)(events & 0x7fffU);
}

int
poller_open(struct poller *p)
{
	*p = (struct poller){ .epoll_fd = epoll_create1(EPOLL_CLOEXEC) };
	return p->epoll_fd < 0 ? -1 : 0;
}

void
poller_close(struct poller *p)
{
	mem_close_fd(&p->epoll_fd);
	free(TAKE(p->refused));
	free(TAKE(p->data));
	p->count = 0;
}

/* The index of `fd` in p->refused, or 0. */
static size_t
find_refused(const struct poller *p, int fd)
{
	for (size_t i = 1; i <= p->count; i++)
		if (p->refused[i].fd == fd)
			return i;
	return 0;
}

static int
add_refused(struct poller *p, int fd, uint32_t events, void *data)
{
	size_t at = p->count + 1;

	/* no watches left, no memory, or a regular file (EPERM) */
	if (errno != ENOSPC && errno != ENOMEM && errno != EPERM)
		return -1;
	p->refused = xrealloc(p->refused, (at + 1) * sizeof(*p->refused));
	p->data = xrealloc(p->data, (at + 1) * sizeof(*p->data));
	p->refused[0] = (struct pollfd){ p->epoll_fd, POLLIN, 0 };
	p->refused[at] = (struct pollfd){ fd, poll_events(events), 0 };
	p->data[at] = data;
	p->count++;
	return 0;
}

int
poller_add(struct poller *p, int fd, uint32_t events, void *data)
{
	struct epoll_event ev = { .events = events, .data.ptr = data };

	if (epoll_ctl(p->epoll_fd, EPOLL_CTL_ADD, fd, &ev) == 0)
		return 0;
	return add_refused(p, fd, events, data);
}

int
poller_change(struct poller *p, int fd, uint32_t events, void *data)
{
	struct epoll_event ev = { .events = events, .data.ptr = data };
	size_t at = find_refused(p, fd);

	if (at == 0)
		return epoll_ctl(p->epoll_fd, EPOLL_CTL_MOD, fd, &ev);
	p->refused[at].events = poll_events(events);
	p->data[at] = data;
	return 0;
}

void
poller_remove(struct poller *p, int fd)
{
	size_t at = find_refused(p, fd);

	if (at == 0) {
		epoll_ctl(p->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
		return;
	}
	p->refused[at] = p->refused[p->count];
	p->data[at] = p->data[p->count];
	p->count--;
}

/*
 * Begins after the last one that was reported: if `max` events always came from
 * the front, those at the end would never be reported.
 */
static int
report_refused(struct poller *p, struct epoll_event *ev, int max)
{
	int n = 0;

	for (size_t i = 0; i < p->count && n < max; i++) {
		size_t at = 1 + (p->next + i) % p->count;
		const struct pollfd *f = &p->refused[at];

		if (f->revents == 0)
			continue;
		ev[n++] = (struct epoll_event){
			.events = (uint16_t)f->revents,
			.data.ptr = p->data[at],
		};
		if (n == max)
			p->next = at % p->count;
	}
	return n;
}

int
poller_wait(struct poller *p, struct epoll_event *ev, int max, int timeout_ms,
    const sigset_t *mask)
{
	const struct timespec limit = { timeout_ms / MS_PER_S,
		(timeout_ms % MS_PER_S) * NS_PER_MS };
	int n, taken = 0;

	if (p->count == 0)
		return epoll_pwait(p->epoll_fd, ev, max, timeout_ms, mask);
	n = ppoll(p->refused, p->count + 1, timeout_ms < 0 ? NULL : &limit,
	    mask);
	if (n <= 0)
		return n;
	if (p->refused[0].revents != 0)
		taken = epoll_wait(p->epoll_fd, ev, max / 2, 0);
	if (taken < 0)
		taken = 0;
	return taken + report_refused(p, ev + taken, max - taken);
}
