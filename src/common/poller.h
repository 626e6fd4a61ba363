/*
 * poller.h: waits for many descriptors with epoll, and with poll() for those
 * that epoll refuses.
 *
 * The kernel limits epoll watches per user (fs.epoll.max_user_watches).  All
 * sandboxes run as the service's user, so tenant code can use all watches up.
 * Descriptors that epoll then refuses are given to poll(), which has no such
 * limit.  poll() is slower the more of them there are; nothing else changes.
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
	struct pollfd *refused; /* [0]: epoll_fd; from [1]: refused by epoll */
	void **data;            /* of refused[i] */
	size_t count;           /* of refused descriptors, without [0] */
	size_t next; /* the refused descriptor to report first, from 0 */
};

/* -1 and errno when the process has no descriptor left. */
int poller_open(struct poller *p);
void poller_close(struct poller *p);

/*
 * `events` are those of epoll(7), level triggered; `data` comes back with each
 * event.  A descriptor must be removed before it is closed.
 */
int poller_add(struct poller *p, int fd, uint32_t events, void *data);
int poller_change(struct poller *p, int fd, uint32_t events, void *data);
void poller_remove(struct poller *p, int fd);

/*
 * Works like epoll_pwait(); `max` must be at least 2.  While the caller handles
 * the events it may remove a descriptor whose event comes later in `ev`: it
 * must then ignore that event.
 */
int poller_wait(struct poller *p, struct epoll_event *ev, int max,
    int timeout_ms, const sigset_t *mask);

#endif
