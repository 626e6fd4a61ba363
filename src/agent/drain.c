/* drain.c: pipes whose command is over and whose writers are not. */
#include "agent/drain.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "agent/loop.h"
#include "common/mem.h"

enum {
	DRAINS_MAX = 1024, /* beyond it, closing is the lesser evil */
	READS_AT_ONCE = 16 /* one loud writer must not starve the relays */
};

struct drain {
	struct loop_item item;
	int fd;
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
end(struct drain *d)
{
	loop_forget(d->fd);
	close(take_fd(&d->fd));
	d->next = dead;
	dead = d;
	living--;
}

static void
ready(struct loop_item *item, uint32_t events)
{
	struct drain *d = (struct drain *)item;
	char buf[4096];

	(void)events;
	if (d->fd < 0)
		return;
	for (int i = 0; i < READS_AT_ONCE; i++) {
		ssize_t n = read(d->fd, buf, sizeof(buf));

		if (n > 0)
			continue;
		if (n == 0 || (errno != EAGAIN && errno != EINTR))
			end(d);
		return;
	}
}

static void
adopt(void *arg)
{
	struct drain *d = arg;

	loop_each_second(free_dead);
	if (living < DRAINS_MAX && loop_watch(d->fd, EPOLLIN, &d->item) == 0) {
		living++;
		return;
	}
	close(d->fd);
	free(d);
}

void
drain_adopt(int fd)
{
	struct drain *d = xcalloc(1, sizeof(*d));
	struct err e;

	*d = (struct drain){ .item = { ready }, .fd = fd };
	if (loop_call(adopt, d, &e) < 0) {
		close(fd);
		free(d);
	}
}
