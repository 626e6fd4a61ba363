/* table.c: keeps the children of a kind, their references and followers. */
#include <stdlib.h>
#include <sys/eventfd.h>

#include "agent/child/child.h"
#include "agent/run/activity.h"
#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"

void
child_init(struct child_entry *c, struct child_table *t, const char *id)
{
	*c = (struct child_entry){ .table = t,
		.id = id,
		.counted = !activity_is_probe(),
		.refs = 1,
		.child = { -1, -1 } };
}

void
child_lock(struct child_table *t)
{
	lock_take(&t->lock);
}

void
child_unlock(struct child_table *t)
{
	lock_drop(&t->lock);
}

/* ---- with the lock held */

bool
child_wait(struct child_table *t, int64_t deadline_ms)
{
	return lock_wait_until(&t->changed, &t->lock, deadline_ms);
}

struct child_entry *
child_named(const struct child_table *t, const char *id)
{
	for (size_t i = 0; i < t->count; i++)
		if (str_equal(t->all[i]->id, id))
			return t->all[i];
	return NULL;
}

size_t
child_living(const struct child_table *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->count; i++)
		n += !t->all[i]->ended;
	return n;
}

int
child_admit(const struct child_table *t, struct err *e)
{
	if (child_living(t) >= t->living_max)
		return err_set(e, ERR_LIMITED, t->too_many,
		    "only %zu %s may run at a time; end one of them",
		    t->living_max, t->many);
	return 0;
}

void
child_enter(struct child_entry *c)
{
	struct child_table *t = c->table;
	struct child_entry *old = child_named(t, c->id);

	if (old != NULL)
		child_remove(old);
	if (t->count == t->room) {
		t->room = t->room > 0 ? 2 * t->room : 16;
		t->all =
		    xrealloc(t->all, t->room * sizeof(struct child_entry *));
	}
	c->refs++;
	/* the loop's reference, before another thread can end the child */
	if (c->child.pid > 0)
		c->refs++;
	c->listed = true;
	t->all[t->count++] = c;
}

void
child_remove(struct child_entry *c)
{
	struct child_table *t = c->table;
	size_t i = 0;

	if (!c->listed)
		return;
	while (t->all[i] != c)
		i++;
	for (t->count--; i < t->count; i++)
		t->all[i] = t->all[i + 1];
	c->listed = false;
	if (t->removed != NULL)
		t->removed(c);
	child_drop(c);
}

void
child_drop(struct child_entry *c)
{
	if (--c->refs == 0)
		c->table->destroy(c);
}

void
child_wake(const struct child_entry *c)
{
	for (const struct child_watch *w = c->watches; w != NULL; w = w->next)
		(void)!eventfd_write(w->fd, 1);
}

void
child_ended(struct child_entry *c)
{
	c->ended = true;
	child_wake(c);
	pthread_cond_broadcast(&c->table->changed);
}

bool
child_take_turn(struct child_entry *c, int64_t ms)
{
	int64_t end = clock_ms() + ms;

	while (c->writing && !c->ended && child_wait(c->table, end))
		;
	if (c->writing || c->ended)
		return false;
	c->writing = true;
	return true;
}

void
child_give_turn(struct child_entry *c)
{
	c->writing = false;
	pthread_cond_broadcast(&c->table->changed);
}

/* ---- without the lock */

struct child_entry *
child_find(struct child_table *t, const char *id)
{
	struct child_entry *c;

	child_lock(t);
	c = child_named(t, id);
	if (c != NULL)
		c->refs++;
	child_unlock(t);
	return c;
}

struct child_entry **
child_all(struct child_table *t, size_t *count)
{
	struct child_entry **all;

	child_lock(t);
	all = xcalloc(t->count, sizeof(struct child_entry *));
	*count = t->count;
	for (size_t i = 0; i < t->count; i++) {
		all[i] = t->all[i];
		all[i]->refs++;
	}
	child_unlock(t);
	return all;
}

void
child_release(struct child_entry *c)
{
	struct child_table *t = c->table;

	child_lock(t);
	child_drop(c);
	child_unlock(t);
}

bool
child_lives(struct child_entry *c)
{
	bool lives;

	child_lock(c->table);
	lives = !c->ended;
	child_unlock(c->table);
	return lives;
}

int
child_watch(struct child_entry *c, struct child_watch *w, struct err *e)
{
	w->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (w->fd < 0)
		return err_errno(e, "eventfd");
	child_lock(c->table);
	w->next = c->watches;
	c->watches = w;
	child_unlock(c->table);
	return 0;
}

void
child_unwatch(struct child_entry *c, struct child_watch *w)
{
	struct child_watch **at = &c->watches;

	child_lock(c->table);
	while (*at != NULL && *at != w)
		at = &(*at)->next;
	if (*at == w)
		*at = w->next;
	child_unlock(c->table);
	mem_close_fd(&w->fd);
}
