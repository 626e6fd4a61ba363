/* pty.c: keeps the table of a session's terminals, and their output. */
#include "agent/pty/pty.h"

#include <stdlib.h>
#include <string.h>

#include "agent/pty/internal.h"
#include "agent/run/activity.h"
#include "common/mem.h"
#include "common/str.h"

/* ---- entries of the table; with the lock held */

static void
free_terminal(struct child_entry *c)
{
	struct pty *t = pty_of(c);

	mem_close_fd(&t->master);
	mem_close_fd(&t->slave);
	free(t->ring);
	free(t);
}

struct child_table pty_table = { .one = "terminal",
	.many = "terminals",
	.failed = CODE_TERMINAL_ERROR,
	.too_many = CODE_TOO_MANY_TERMINALS,
	.living_max = PTY_LIVING_MAX,
	.hang_up = true,
	.destroy = free_terminal,
	.lock = LOCK_INIT(LOCK_PTY),
	.changed = PTHREAD_COND_INITIALIZER };

struct pty *
pty_new(const char *id)
{
	struct pty *t = xcalloc(1, sizeof(*t));

	*t = (struct pty){ .master = -1, .slave = -1 };
	str_copy(t->id, sizeof(t->id), id);
	child_init(&t->entry, &pty_table, t->id);
	t->ring = xmalloc(PTY_RING); /* untouched pages use no memory */
	return t;
}

struct pty *
pty_living_of(const char *id)
{
	struct child_entry *c = child_named(&pty_table, id);

	if (c == NULL || c->ended)
		return NULL;
	c->refs++;
	return pty_of(c);
}

/*
 * A new terminal takes the name of an ended one and continues its byte numbers.
 * If they began at 0 again, a client that reconnects with an offset of the old
 * terminal would silently miss output of the new one.
 */
int
pty_admit(struct pty *t, struct err *e)
{
	struct child_entry *old = child_named(&pty_table, t->id);

	if (child_admit(&pty_table, e) < 0)
		return -1;
	if (old != NULL)
		t->begin = t->total = pty_of(old)->total;
	return 0;
}

/* Forgets the terminal that ended first, if more than PTY_ENDED_MAX have. */
static void
forget_oldest(void)
{
	struct pty *oldest = NULL;

	for (size_t i = 0; i < pty_table.count; i++) {
		struct pty *t = pty_of(pty_table.all[i]);

		if (t->entry.ended &&
		    (oldest == NULL || t->end_no < oldest->end_no))
			oldest = t;
	}
	if (oldest != NULL &&
	    pty_table.count - child_living(&pty_table) > PTY_ENDED_MAX)
		child_remove(&oldest->entry);
}

void
pty_ended(struct pty *t)
{
	static int64_t ends;

	t->end_no = ++ends;
	child_ended(&t->entry);
	forget_oldest();
}

/* ---- the ring; with the lock held */

void
pty_keep(struct pty *t, const char *data, size_t len)
{
	while (len > 0) {
		size_t at = (size_t)(t->total % PTY_RING);
		size_t n = len < PTY_RING - at ? len : PTY_RING - at;

		memcpy(t->ring + at, data, n);
		t->total += (int64_t)n;
		data += n;
		len -= n;
	}
}

static int64_t
first_of(const struct pty *t)
{
	int64_t kept = t->total - PTY_RING;

	return kept > t->begin ? kept : t->begin;
}

static void
copy_block(const struct pty *t, struct pty_block *b)
{
	size_t at = (size_t)(b->offset % PTY_RING);
	size_t n = b->len < PTY_RING - at ? b->len : PTY_RING - at;

	memcpy(b->data, t->ring + at, n);
	memcpy(b->data + n, t->ring, b->len - n);
}

/* ---- finding and reading */

int
pty_find(const char *id, struct pty **out, struct err *e)
{
	struct child_entry *c = child_find(&pty_table, id);

	*out = c != NULL ? pty_of(c) : NULL;
	if (c == NULL)
		return err_set(e, ERR_NOT_FOUND, CODE_TERMINAL_NOT_FOUND,
		    "Terminal '%s' not found", id);
	return 0;
}

void
pty_release(struct pty *t)
{
	child_release(&t->entry);
}

void
pty_drop(struct pty **t)
{
	if (*t != NULL)
		pty_release(*t);
}

struct pty **
pty_all(size_t *count)
{
	auto_free struct child_entry **entries = child_all(&pty_table, count);
	struct pty **all = xcalloc(*count, sizeof(struct pty *));

	for (size_t i = 0; i < *count; i++)
		all[i] = pty_of(entries[i]);
	return all;
}

const char *
pty_id(const struct pty *t)
{
	return t->id;
}

const char *
pty_shell(const struct pty *t)
{
	return t->shell;
}

struct pty_now
pty_now(struct pty *t)
{
	struct pty_now now;

	child_lock(&pty_table);
	now = (struct pty_now){ .running = !t->entry.ended,
		.pid = t->pid,
		.cols = t->cols,
		.rows = t->rows,
		.first = first_of(t),
		.total = t->total,
		.exit_code = t->exit_code,
		.signal = t->entry.ended ? t->signal : "" };
	child_unlock(&pty_table);
	return now;
}

bool
pty_read(struct pty *t, int64_t offset, struct pty_block *b)
{
	int64_t left;

	child_lock(&pty_table);
	b->offset = offset;
	if (offset < first_of(t))
		b->offset = first_of(t) + (t->total - first_of(t)) / 2;
	left = t->total - b->offset;
	b->len = left < PTY_BLOCK ? (size_t)(left > 0 ? left : 0) : PTY_BLOCK;
	copy_block(t, b);
	child_unlock(&pty_table);
	return b->len > 0;
}

int64_t
pty_begin(struct pty *t, int64_t asked)
{
	struct pty_now now = pty_now(t);

	return asked < now.first || asked > now.total ? now.first : asked;
}

/* ---- followers */

int
pty_watch(struct pty *t, struct child_watch *w, struct err *e)
{
	if (child_watch(&t->entry, w, e) < 0)
		return -1;
	activity_begin(ACTIVITY_STREAMS);
	return 0;
}

void
pty_unwatch(struct pty *t, struct child_watch *w)
{
	activity_end(ACTIVITY_STREAMS);
	child_unwatch(&t->entry, w);
}
