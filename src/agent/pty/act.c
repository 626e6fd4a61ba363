/* act.c: what is done to a terminal that lives. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "agent/base/treeend.h"
#include "agent/pty/internal.h"
#include "agent/run/activity.h"
#include "common/clock.h"
#include "common/mem.h"

enum { END_MS = 4 * TREEEND_GRACE_MS };

static bool
lives(struct pty *t)
{
	return pty_now(t).running;
}

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

static int
take_turn(struct pty *t, struct err *e)
{
	int64_t end = clock_ms() + PTY_INPUT_MS;
	bool more = true, mine;

	pthread_mutex_lock(&pty_lock);
	while (more && t->typing && !t->ended)
		more = pty_wait(end);
	mine = !t->typing && !t->ended;
	t->typing = t->typing || mine;
	pthread_mutex_unlock(&pty_lock);
	if (mine)
		return 0;
	return more ? has_ended(t, e) : is_full(t, e);
}

static void
give_turn(struct pty *t)
{
	pthread_mutex_lock(&pty_lock);
	t->typing = false;
	pthread_cond_broadcast(&pty_changed);
	pthread_mutex_unlock(&pty_lock);
}

static void
note_typed(struct pty *t)
{
	pthread_mutex_lock(&pty_lock);
	t->typed_ms = clock_ms();
	pthread_mutex_unlock(&pty_lock);
	activity_touch();
}

/* Until it takes more.  False when it does not, or nobody wants it to. */
static bool
wait_room(struct pty *t, struct pty_watch *w, const struct pty_input *in)
{
	int64_t end = clock_ms() + PTY_INPUT_MS;
	struct pollfd f[] = { { t->master, POLLOUT, 0 }, { w->fd, POLLIN, 0 },
		{ in->gone_fd, POLLRDHUP, 0 } };
	uint64_t seen;

	while (lives(t)) {
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
pour(struct pty *t, const struct pty_input *in, struct pty_watch *w,
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
type(struct pty *t, const struct pty_input *in, size_t *written, struct err *e)
{
	struct pty_watch w;
	bool all;

	*written = 0;
	if (pty_listen(t, &w, e) < 0)
		return -1;
	note_typed(t);
	all = pour(t, in, &w, written);
	pty_unlisten(t, &w);
	if (all)
		return 0;
	return lives(t) ? is_full(t, e) : has_ended(t, e);
}

int
pty_input(struct pty *t, const struct pty_input *in, size_t *written,
    struct err *e)
{
	int rc;

	*written = 0;
	if (take_turn(t, e) < 0)
		return -1;
	rc = type(t, in, written, e);
	give_turn(t);
	return rc;
}

/* ---- its size */

int
pty_resize(struct pty *t, int cols, int rows, struct err *e)
{
	const struct winsize size = { .ws_col = (unsigned short)cols,
		.ws_row = (unsigned short)rows };

	if (cols < 1 || cols > PTY_SIDE_MAX)
		return err_field(e, "cols", "must be 1 to %d", PTY_SIDE_MAX);
	if (rows < 1 || rows > PTY_SIDE_MAX)
		return err_field(e, "rows", "must be 1 to %d", PTY_SIDE_MAX);
	if (!lives(t))
		return has_ended(t, e);
	pthread_mutex_lock(&pty_lock);
	t->cols = cols;
	t->rows = rows;
	(void)ioctl(t->master, TIOCSWINSZ, &size);
	pty_wake(t);
	pthread_mutex_unlock(&pty_lock);
	return 0;
}

/* ---- ending */

static bool
wait_end(struct pty *t)
{
	int64_t end = clock_ms() + END_MS;
	bool more = true;

	pthread_mutex_lock(&pty_lock);
	while (more && !t->ended)
		more = pty_wait(end);
	if (t->ended)
		pty_remove(t);
	pthread_mutex_unlock(&pty_lock);
	return more;
}

int
pty_end(struct pty *t, struct err *e)
{
	if (pty_claim(t)) {
		treeend_all(&(struct treeend){ .root = t->child.pid,
				.pidfd = t->child.pidfd,
				.hang_up = true },
		    1);
		pty_unpin(t);
	}
	if (!wait_end(t))
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
	n = lives(t);
	(void)!pty_end(t, &ignored);
	pty_release(t);
	return n;
}

/* ---- what runs in it */

/* With the lock held. */
static bool
has_job(const struct pty *t)
{
	pid_t group = -1;

	return !t->ended && ioctl(t->master, TIOCGPGRP, &group) == 0 &&
	    group > 0 && group != t->pid;
}

int64_t
pty_running(void)
{
	size_t count;
	auto_free struct pty **all = pty_all(&count);
	int64_t n = 0;

	pthread_mutex_lock(&pty_lock);
	for (size_t i = 0; i < count; i++) {
		n += all[i]->counted && has_job(all[i]);
		pty_drop(all[i]);
	}
	pthread_mutex_unlock(&pty_lock);
	return n;
}

/*
 * As if it had been typed, whatever the program makes of ^C otherwise.  What
 * somebody has typed for since is not meant.
 */
size_t
pty_interrupt_all(const char *shell, int64_t older_ms)
{
	int64_t before_ms = clock_ms() - older_ms;
	size_t count, n = 0;
	auto_free struct pty **all = pty_all(&count);

	pthread_mutex_lock(&pty_lock);
	for (size_t i = 0; i < count; i++) {
		struct pty *t = all[i];

		if (!t->ended && t->typed_ms <= before_ms &&
		    (shell == NULL || str_equal(t->id, shell))) {
			n += has_job(t);
			(void)ioctl(t->master, TIOCSIG, SIGINT);
		}
		pty_drop(t);
	}
	pthread_mutex_unlock(&pty_lock);
	return n;
}
