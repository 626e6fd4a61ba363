/*
 * drain.c: reads and discards the output of background children after their
 * command has ended, so that they neither block nor die of SIGPIPE.
 */
#include "agent/base/drain.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "agent/base/loop.h"
#include "common/mem.h"

enum {
	DRAINS_MAX = 1024, /* further pipes are closed: risk of SIGPIPE */
	READS_AT_ONCE = 16 /* a writer without pause must not starve relays */
};

struct drain {
	struct loop_item item;
	int fd;    /* -1: no longer read */
	bool lent; /* the caller of drain_lend() keeps the descriptor */
	struct drain *next; /* in the list `ended` */
};

/* Only the loop's thread uses these. */
static size_t living;
static struct drain *ended; /* freed by the next free_ended() */

static void
free_ended(void)
{
	while (ended != NULL) {
		struct drain *d = ended;

		ended = d->next;
		free(d);
	}
}

/* The loop may still hold an event for d, so d is freed later (loop.c). */
static void
free_later(struct drain *d)
{
	d->next = ended;
	ended = d;
	living--;
}

static void
discard_output(struct loop_item *item, uint32_t events)
{
	struct drain *d = (struct drain *)item;
	char buf[4096];
	int fd;

	(void)events;
	if (d->fd < 0)
		return;
	for (int i = 0; i < READS_AT_ONCE; i++) {
		ssize_t n = read(d->fd, buf, sizeof(buf));

		if (n > 0)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		/* end of file, or an error; the owner closes a lent one */
		fd = take_fd(&d->fd);
		loop_forget(fd);
		if (!d->lent) {
			close(fd);
			free_later(d);
		}
		return;
	}
}

static void
begin_draining(void *arg)
{
	struct drain *d = arg;

	loop_each_second(free_ended);
	living++;
	if (living <= DRAINS_MAX && loop_watch(d->fd, EPOLLIN, &d->item) == 0)
		return;
	if (!d->lent) {
		close(d->fd);
		free_later(d);
	}
	d->fd = -1;
}

static int
add_drain(int fd, bool lent, struct drain **out)
{
	struct drain *d = xcalloc(1, sizeof(*d));
	struct err e;

	*d = (struct drain){ .item = { discard_output },
		.fd = fd,
		.lent = lent };
	if (loop_call(begin_draining, d, &e) < 0) {
		free(d);
		return -1;
	}
	*out = d;
	return 0;
}

void
drain_adopt(int fd)
{
	struct drain *d;

	if (add_drain(fd, false, &d) < 0)
		close(fd);
}

struct drain *
drain_lend(int fd)
{
	struct drain *d;

	return add_drain(fd, true, &d) < 0 ? NULL : d;
}

static void
stop_draining(void *arg)
{
	struct drain *d = arg;

	if (d->fd >= 0)
		loop_forget(take_fd(&d->fd));
	free_later(d);
}

void
drain_return(struct drain *d)
{
	struct err ignored;

	/* cannot fail: drain_lend() has started the loop */
	if (d != NULL)
		(void)!loop_call(stop_draining, d, &ignored);
}
