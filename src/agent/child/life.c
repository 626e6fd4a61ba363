/*
 * life.c: watches children in the loop, from start to end.
 *
 * All but pins and child_attach() runs in the loop's thread, the only one that
 * waits for ended children.
 */
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "agent/base/proctree.h"
#include "agent/child/child.h"
#include "common/mem.h"

static struct child_entry *loose;

/* ---- releasing */

static void
release_loose(void)
{
	while (loose != NULL) {
		struct child_entry *c = loose;

		loose = c->loose;
		child_release(c);
	}
}

/* The loop's current batch may have events for c: c is released after it. */
void
child_let_go(struct child_entry *c)
{
	c->loose = loose;
	loose = c;
}

void
child_close_item(struct child_item *i)
{
	if (i->fd < 0)
		return;
	loop_forget(i->fd);
	close(take_fd(&i->fd));
}

/* ---- the end */

bool
child_is_reaped(const struct child_entry *c)
{
	return c->child.pid < 0;
}

/*
 * False while c is pinned: another thread may signal the child, and its pid
 * must not become another process's.
 */
static bool
may_reap(struct child_entry *c)
{
	bool may;

	child_lock(c->table);
	may = c->pins == 0 && !c->reaping;
	c->reaping = c->reaping || may;
	child_unlock(c->table);
	return may;
}

static void
reap(struct child_entry *c)
{
	loop_forget(c->child.pidfd);
	c->finish(c);
}

static void
exit_ready(struct loop_item *item, uint32_t events)
{
	struct child_entry *c = ((struct child_item *)item)->entry;

	(void)events;
	if (child_is_reaped(c))
		return;
	if (may_reap(c))
		reap(c);
	else
		loop_change(c->child.pidfd, 0, item); /* until recheck_exit() */
}

static void
recheck_exit(void *arg)
{
	struct child_entry *c = arg;
	struct pollfd f = { c->child.pidfd, POLLIN, 0 };

	if (child_is_reaped(c))
		return;
	loop_change(c->child.pidfd, EPOLLIN, &c->exit.item);
	if (poll(&f, 1, 0) == 1 && may_reap(c))
		reap(c);
}

/* ---- the beginning */

void
child_add_item(struct child_entry *c, struct child_item *i,
    void (*ready)(struct loop_item *item, uint32_t events))
{
	struct child_item **at = &c->items;

	/* at the end: items that are watched first are read first */
	while (*at != NULL)
		at = &(*at)->next;
	*i = (struct child_item){ .item = { ready }, .entry = c, .fd = -1 };
	*at = i;
}

void
child_prepare(struct child_entry *c, void (*finish)(struct child_entry *c))
{
	c->finish = finish;
	child_add_item(c, &c->exit, exit_ready);
}

static void
watch_items(void *arg)
{
	struct child_entry *c = arg;
	bool watched = true;

	loop_each_second(release_loose);
	if (c->table->each_second != NULL)
		loop_each_second(c->table->each_second);
	c->exit.fd = c->child.pidfd;
	for (struct child_item *i = c->items; i != NULL; i = i->next)
		if (i->fd >= 0 && loop_watch(i->fd, EPOLLIN, &i->item) < 0)
			watched = false;
	/* a child that was waited for has no pid to kill any more */
	c->attached = watched || child_is_reaped(c);
	for (struct child_item *i = c->items; !c->attached && i != NULL;
	     i = i->next)
		loop_forget(i->fd);
}

int
child_attach(struct child_entry *c, struct err *e)
{
	if (loop_call(watch_items, c, e) == 0) {
		if (c->attached)
			return 0;
		err_set(e, ERR_INTERNAL, c->table->failed,
		    "the %s cannot be watched", c->table->one);
	}
	/* pinned: another thread ends it and makes the loop reap it */
	if (!may_reap(c))
		return 0;
	proctree_kill(c->child.pid, NULL);
	spawn_wait(&c->child);
	child_lock(c->table);
	c->ended = true;
	child_remove(c);
	child_drop(c); /* the loop's reference */
	child_unlock(c->table);
	return -1;
}

/* ---- pins */

bool
child_pin(struct child_entry *c)
{
	bool can;

	child_lock(c->table);
	can = !c->ended && !c->reaping;
	c->pins += can;
	child_unlock(c->table);
	return can;
}

void
child_unpin(struct child_entry *c)
{
	struct err ignored;

	child_lock(c->table);
	c->pins--;
	child_unlock(c->table);
	(void)!loop_call(recheck_exit, c, &ignored);
}
