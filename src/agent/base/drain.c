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
	DRAINS_MAX = 1024, /* beyond it, closing is the lesser evil */
	READS_AT_ONCE = 16 /* one loud writer must not starve the relays */
};

struct drain {
	struct loop_item item;
	int fd;             /* -1: not read any more */
	bool lent;          /* somebody has it and will want it back */
	struct drain *next; /* among the dead */
};

static size_t living; /* the loop's thread only, as all below */
static struct drain *dead;

static void
free_dead(void)
{
	while (dead != NULL) {
		struct drain *d = dead;

		dead = d->next;
		free(d);
	}
}

static void
bury(struct drain *d)
{
	d->next = dead;
	dead = d;
	living--;
}

static void
ready(struct loop_item *item, uint32_t events)
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
		/* nobody writes any more; one that is lent stays open */
		fd = take_fd(&d->fd);
		loop_forget(fd);
		if (!d->lent) {
			close(fd);
			bury(d);
		}
		return;
	}
}

static void
adopt(void *arg)
{
	struct drain *d = arg;

	loop_each_second(free_dead);
	living++;
	if (living <= DRAINS_MAX && loop_watch(d->fd, EPOLLIN, &d->item) == 0)
		return;
	if (!d->lent) {
		close(d->fd);
		bury(d);
	}
	d->fd = -1;
}

static int
add_drain(int fd, bool lent, struct drain **out)
{
	struct drain *d = xcalloc(1, sizeof(*d));
	struct err e;

	*d = (struct drain){ .item = { ready }, .fd = fd, .lent = lent };
	if (loop_call(adopt, d, &e) < 0) {
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
give_back(void *arg)
{
	struct drain *d = arg;

	if (d->fd >= 0)
		loop_forget(take_fd(&d->fd));
	bury(d);
}

void
drain_return(struct drain *d)
{
	struct err ignored;

	/* it has been called before, so the loop is there */
	if (d != NULL)
		(void)!loop_call(give_back, d, &ignored);
}
