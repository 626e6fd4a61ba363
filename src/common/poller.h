/*
 * poller.h: waits for many descriptors: epoll, and poll() where epoll refuses.
 *
 * The kernel counts epoll watches for the user (fs.epoll.max_user_watches), and
 * all sandboxes are the service's user: tenant code can use all of them up.
 * Descriptors that epoll then refuses are given to poll(), which has no such
 * limit.  It is slower, the more of them there are, and nothing else changes.
 */
#ifndef SANDLEASE_COMMON_POLLER_H
#define SANDLEASE_COMMON_POLLER_H

#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>

struct poller {
	int epoll_fd;
	struct pollfd *refused; /* [0] is epoll's own, then by poll() */
	void **data;            /* of refused[i] */
	size_t count;           /* of those behind [0] */
	size_t next;            /* whose turn it is to be told first */
};

/* -1 and errno when there is no descriptor left for it. */
int poller_open(struct poller *p);
void poller_close(struct poller *p);

/*
 * `events` as in epoll(7), level triggered; `data` comes back with them.
 * A descriptor must be removed before it is closed.
 */
int poller_add(struct poller *p, int fd, uint32_t events, void *data);
int poller_change(struct poller *p, int fd, uint32_t events, void *data);
void poller_remove(struct poller *p, int fd);

/*
 * As epoll_pwait(), with `max` of at least 2.  An event may be of a descriptor
 * that the handler of one before it has removed.
 */
int poller_wait(struct poller *p, struct epoll_event *ev, int max,
    int timeout_ms, const sigset_t *mask);

#endif
