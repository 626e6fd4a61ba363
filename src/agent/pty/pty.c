/* pty.c: the table of a session's terminals, and what they have written. */
#include "agent/pty/pty.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#include "agent/pty/internal.h"
#include "agent/run/activity.h"
#include "common/mem.h"

pthread_mutex_t pty_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t pty_changed = PTHREAD_COND_INITIALIZER;

/* in the order in which they began */
static struct pty *table[PTY_LIVING_MAX + PTY_ENDED_MAX + 1];
static size_t count;

/* ---- who is there; all with the lock held */

void
pty_drop(struct pty *t)
{
	if (--t->refs > 0)
		return;
	mem_close_fd(&t->master);
	mem_close_fd(&t->slave);
	free(t->ring);
	free(t);
}

static struct pty *
named(const char *id)
{
	for (size_t i = 0; i < count; i++)
		if (str_equal(table[i]->id, id))
			return table[i];
	return NULL;
}

struct pty *
pty_living_of(const char *id)
{
	struct pty *t = named(id);

	if (t == NULL || t->ended)
		return NULL;
	t->refs++;
	return t;
}

size_t
pty_living(void)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		n += !table[i]->ended;
	return n;
}

void
pty_enter(struct pty *t)
{
	struct pty *old = named(t->id);

	if (old != NULL)
		pty_remove(old);
	t->refs++;
	t->listed = true;
	table[count++] = t;
}

void
pty_remove(struct pty *t)
{
	size_t i = 0;

	if (!t->listed)
		return;
	while (table[i] != t)
		i++;
	for (count--; i < count; i++)
		table[i] = table[i + 1];
	t->listed = false;
	pty_drop(t);
}

/*
 * One that has ended gives its name up; the numbers go on, so that a reader of
 * the old one who comes back is not taken for a reader of the new one.
 */
int
pty_admit(struct pty *t, struct err *e)
{
	struct pty *old = named(t->id);

	if (pty_living() >= PTY_LIVING_MAX)
		return err_set(e, ERR_LIMITED, CODE_TOO_MANY_TERMINALS,
		    "there may be %d terminals at once", PTY_LIVING_MAX);
	if (old != NULL)
		t->begin = t->total = old->total;
	return 0;
}

/* Keeps those that have ended last; there is one too many at most. */
static void
forget_oldest(void)
{
	struct pty *oldest = NULL;

	for (size_t i = 0; i < count; i++)
		if (table[i]->ended &&
		    (oldest == NULL || table[i]->end_no < oldest->end_no))
			oldest = table[i];
	if (oldest != NULL && count - pty_living() > PTY_ENDED_MAX)
		pty_remove(oldest);
}

void
pty_wake(const struct pty *t)
{
	for (const struct pty_watch *w = t->watches; w != NULL; w = w->next)
		(void)!eventfd_write(w->fd, 1);
}

void
pty_ended(struct pty *t)
{
	static int64_t ends;

	t->ended = true;
	t->end_no = ++ends;
	pty_wake(t);
	pthread_cond_broadcast(&pty_changed);
	forget_oldest();
}

bool
pty_wait(int64_t deadline_ms)
{
	struct timespec at = { .tv_sec = deadline_ms / 1000,
		.tv_nsec = deadline_ms % 1000 * 1000000 };

	return pthread_cond_clockwait(&pty_changed, &pty_lock, CLOCK_MONOTONIC,
		   &at) == 0;
}

/* ---- the ring; with the lock held too */

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
take(const struct pty *t, struct pty_block *b)
{
	size_t at = (size_t)(b->offset % PTY_RING);
	size_t n = b->len < PTY_RING - at ? b->len : PTY_RING - at;

	memcpy(b->data, t->ring + at, n);
	memcpy(b->data + n, t->ring, b->len - n);
}

/* ---- for everybody else */

int
pty_find(const char *id, struct pty **out, struct err *e)
{
	pthread_mutex_lock(&pty_lock);
	*out = named(id);
	if (*out != NULL)
		(*out)->refs++;
	pthread_mutex_unlock(&pty_lock);
	if (*out == NULL)
		return err_set(e, ERR_NOT_FOUND, CODE_TERMINAL_NOT_FOUND,
		    "Terminal '%s' not found", id);
	return 0;
}

void
pty_release(struct pty *t)
{
	pthread_mutex_lock(&pty_lock);
	pty_drop(t);
	pthread_mutex_unlock(&pty_lock);
}

struct pty **
pty_all(size_t *n)
{
	struct pty **all = xcalloc(ARRAY_LEN(table), sizeof(struct pty *));

	pthread_mutex_lock(&pty_lock);
	*n = count;
	for (size_t i = 0; i < count; i++) {
		all[i] = table[i];
		all[i]->refs++;
	}
	pthread_mutex_unlock(&pty_lock);
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

	pthread_mutex_lock(&pty_lock);
	now = (struct pty_now){ .running = !t->ended,
		.pid = t->pid,
		.cols = t->cols,
		.rows = t->rows,
		.first = first_of(t),
		.total = t->total,
		.exit_code = t->exit_code,
		.signal = t->ended ? t->signal : "" };
	pthread_mutex_unlock(&pty_lock);
	return now;
}

bool
pty_read(struct pty *t, int64_t offset, struct pty_block *b)
{
	int64_t left;

	pthread_mutex_lock(&pty_lock);
	b->offset = offset;
	if (offset < first_of(t))
		b->offset = first_of(t) + (t->total - first_of(t)) / 2;
	left = t->total - b->offset;
	b->len = left < PTY_BLOCK ? (size_t)(left > 0 ? left : 0) : PTY_BLOCK;
	take(t, b);
	pthread_mutex_unlock(&pty_lock);
	return b->len > 0;
}

int64_t
pty_begin(struct pty *t, int64_t asked)
{
	struct pty_now now = pty_now(t);

	return asked < now.first || asked > now.total ? now.first : asked;
}

/* ---- who follows */

int
pty_listen(struct pty *t, struct pty_watch *w, struct err *e)
{
	w->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (w->fd < 0)
		return err_errno(e, "eventfd");
	pthread_mutex_lock(&pty_lock);
	w->next = t->watches;
	t->watches = w;
	pthread_mutex_unlock(&pty_lock);
	return 0;
}

void
pty_unlisten(struct pty *t, struct pty_watch *w)
{
	pthread_mutex_lock(&pty_lock);
	for (struct pty_watch **at = &t->watches; *at != NULL;
	     at = &(*at)->next)
		if (*at == w) {
			*at = w->next;
			break;
		}
	pthread_mutex_unlock(&pty_lock);
	mem_close_fd(&w->fd);
}

int
pty_watch(struct pty *t, struct pty_watch *w, struct err *e)
{
	if (pty_listen(t, w, e) < 0)
		return -1;
	activity_begin(ACTIVITY_STREAMS);
	return 0;
}

void
pty_unwatch(struct pty *t, struct pty_watch *w)
{
	activity_end(ACTIVITY_STREAMS);
	pty_unlisten(t, w);
}
