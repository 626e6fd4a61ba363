/* act.c: writes to, resizes, interrupts and ends terminals. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "agent/pty/internal.h"
#include "agent/run/activity.h"
#include "common/clock.h"
#include "common/mem.h"

static int
has_ended(const struct pty *t, struct err *e)
{
	return err_set(e, ERR_CONFLICT, CODE_TERMINAL_ENDED,
	    "Terminal '%s' has ended", t->id);
}

static int
is_full(const struct pty *t, struct err *e)
{
	return err_set(e, ERR_BUSY, CODE_INPUT_FULL,
	    "the program of terminal '%s' does not read its input", t->id);
}

/* ---- input */

static void
note_typed(struct pty *t)
{
	child_lock(&pty_table);
	t->typed_ms = clock_ms();
	child_unlock(&pty_table);
	activity_touch();
}

/*
 * Waits until the terminal takes more input.  False when the program does not
 * read, has ended, or the client has left.
 */
static bool
wait_room(struct pty *t, struct child_watch *w, const struct pty_input *in)
{
	int64_t end = clock_ms() + PTY_INPUT_MS;
	struct pollfd f[] = { { t->master, POLLOUT, 0 }, { w->fd, POLLIN, 0 },
		{ in->gone_fd, POLLRDHUP, 0 } };
	uint64_t seen;

	while (child_lives(&t->entry)) {
		if (poll(f, ARRAY_LEN(f),
			in->patient ? -1 : clock_left_ms(end)) <= 0 ||
		    f[2].revents != 0)
			return false;
		if (f[0].revents != 0)
			return true;
		(void)!read(w->fd, &seen, sizeof(seen));
	}
	return false;
}

static bool
write_input(struct pty *t, const struct pty_input *in, struct child_watch *w,
    size_t *written)
{
	while (*written < in->len) {
		ssize_t n =
		    write(t->master, in->data + *written, in->len - *written);

		if (n > 0)
			*written += (size_t)n;
		else if ((n < 0 && errno != EAGAIN && errno != EINTR) ||
		    !wait_room(t, w, in))
			return false;
	}
	return true;
}

static int
write_and_explain(struct pty *t, const struct pty_input *in, size_t *written,
    struct err *e)
{
	struct child_watch w;
	bool all;

	*written = 0;
	if (child_watch(&t->entry, &w, e) < 0)
		return -1;
	note_typed(t);
	all = write_input(t, in, &w, written);
	child_unwatch(&t->entry, &w);
	if (all)
		return 0;
	return child_lives(&t->entry) ? is_full(t, e) : has_ended(t, e);
}

int
pty_input(struct pty *t, const struct pty_input *in, size_t *written,
    struct err *e)
{
	bool mine;
	int rc;

	*written = 0;
	child_lock(&pty_table);
	mine = child_take_turn(&t->entry, PTY_INPUT_MS);
	child_unlock(&pty_table);
	if (!mine)
		return child_lives(&t->entry) ? is_full(t, e) : has_ended(t, e);
	rc = write_and_explain(t, in, written, e);
	child_lock(&pty_table);
	child_give_turn(&t->entry);
	child_unlock(&pty_table);
	return rc;
}

/* ---- size */

int
pty_resize(struct pty *t, int cols, int rows, struct err *e)
{
	const struct winsize size = { .ws_col = (unsigned short)cols,
		.ws_row = (unsigned short)rows };

	if (cols < 1 || cols > PTY_SIDE_MAX)
		return err_field(e, "cols", "must be 1 to %d", PTY_SIDE_MAX);
	if (rows < 1 || rows > PTY_SIDE_MAX)
		return err_field(e, "rows", "must be 1 to %d", PTY_SIDE_MAX);
	if (!child_lives(&t->entry))
		return has_ended(t, e);
	child_lock(&pty_table);
	t->cols = cols;
	t->rows = rows;
	(void)ioctl(t->master, TIOCSWINSZ, &size);
	child_wake(&t->entry);
	child_unlock(&pty_table);
	return 0;
}

/* ---- ending */

int
pty_end(struct pty *t, struct err *e)
{
	struct child_entry *c = &t->entry;
	bool ended = child_end_all(&c, 1);

	child_lock(&pty_table);
	if (c->ended)
		child_remove(c);
	child_unlock(&pty_table);
	if (!ended)
		return err_set(e, ERR_INTERNAL, CODE_TERMINAL_ERROR,
		    "Terminal '%s' could not be ended", t->id);
	return 0;
}

size_t
pty_end_of(const char *id)
{
	struct pty *t;
	struct err ignored;
	size_t n;

	if (pty_find(id, &t, &ignored) < 0)
		return 0;
	n = child_lives(&t->entry);
	(void)!pty_end(t, &ignored);
	pty_release(t);
	return n;
}

/* ---- commands in the foreground */

/* With the lock held: whether a command runs, and not only the shell. */
static bool
has_job(const struct pty *t)
{
	pid_t group = -1;

	return !t->entry.ended && ioctl(t->master, TIOCGPGRP, &group) == 0 &&
	    group > 0 && group != t->pid;
}

int64_t
pty_running(void)
{
	int64_t n = 0;

	child_lock(&pty_table);
	for (size_t i = 0; i < pty_table.count; i++) {
		const struct pty *t = pty_of(pty_table.all[i]);

		n += t->entry.counted && has_job(t);
	}
	child_unlock(&pty_table);
	return n;
}

/*
 * TIOCSIG sends SIGINT also where a program has turned off ^C.  A terminal with
 * newer input is skipped: its command may be one that began after the caller
 * asked for the interrupt.
 */
size_t
pty_interrupt_all(const char *shell, int64_t older_ms)
{
	int64_t before_ms = clock_ms() - older_ms;
	size_t n = 0;

	child_lock(&pty_table);
	for (size_t i = 0; i < pty_table.count; i++) {
		struct pty *t = pty_of(pty_table.all[i]);

		if (t->entry.ended || t->typed_ms > before_ms ||
		    (shell != NULL && !str_equal(t->id, shell)))
			continue;
		n += has_job(t);
		(void)ioctl(t->master, TIOCSIG, SIGINT);
	}
	child_unlock(&pty_table);
	return n;
}
