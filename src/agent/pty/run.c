/*
 * run.c: reads the output of terminals and notes their end.
 *
 * Everything except pty_prepare() and pty_hang_up_all() runs in the loop's
 * thread.  No other thread reads the output of a program.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/cell/limits_view.h"
#include "agent/pty/internal.h"
#include "agent/run/activity.h"
#include "common/mem.h"

enum {
	CHUNK = 4096,        /* the kernel returns no more for one read */
	CHUNKS_AT_ONCE = 16, /* then the other terminals have a turn */
	CHUNKS_AT_END = 256  /* more than the kernel buffers */
};

/* ---- in the loop: output */

/* Reads once; false when there is nothing more for now. */
static bool
read_chunk(struct pty *t)
{
	char chunk[CHUNK];
	ssize_t n = read(t->master, chunk, sizeof(chunk));

	if (n <= 0)
		return n < 0 && errno == EINTR;
	child_lock(&pty_table);
	pty_keep(t, chunk, (size_t)n);
	child_unlock(&pty_table);
	return true;
}

static void
read_some(struct pty *t, int chunks)
{
	while (chunks-- > 0 && read_chunk(t))
		;
	if (t->entry.counted)
		activity_touch();
	child_lock(&pty_table);
	child_wake(&t->entry);
	child_unlock(&pty_table);
}

static void
output_ready(struct loop_item *item, uint32_t events)
{
	struct pty *t = pty_of(((struct child_item *)item)->entry);

	(void)events;
	if (!child_is_reaped(&t->entry))
		read_some(t, CHUNKS_AT_ONCE);
	limits_view_refresh(); /* `top` reads /proc/meminfo after it prints */
}

/* ---- in the loop: the end */

/*
 * Notes the signal that killed the program, if one did: the result of
 * spawn_wait() cannot tell exit code 137 from SIGKILL.  WNOWAIT leaves the
 * process for spawn_wait().
 */
static void
note_signal(struct pty *t)
{
	siginfo_t how = { 0 };
	const char *name;

	if (waitid(P_PID, (id_t)t->entry.child.pid, &how, WEXITED | WNOWAIT) <
		0 ||
	    how.si_code == CLD_EXITED)
		return;
	name = sigabbrev_np(how.si_status);
	snprintf(t->signal, sizeof(t->signal), "SIG%s",
	    name != NULL ? name : "RT");
}

/*
 * Hangs the terminal up: processes that still have it open read an end of file
 * and write to nothing.  The descriptor stays open, because another thread may
 * be about to use it.
 */
static void
hang_up(struct pty *t)
{
	auto_fd int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (null >= 0)
		(void)dup3(null, t->master, O_CLOEXEC);
	mem_close_fd(&t->slave);
}

static void
note_end(struct child_entry *c)
{
	struct pty *t = pty_of(c);
	int exit_code;

	loop_forget(t->master);
	/* if child_attach() comes later, it must not watch the terminal */
	t->out.fd = -1;
	note_signal(t);
	read_some(t, CHUNKS_AT_END);
	exit_code = spawn_wait(&c->child);
	hang_up(t);
	child_lock(&pty_table);
	t->exit_code = exit_code;
	pty_ended(t);
	child_unlock(&pty_table);
	child_let_go(c);
}

/* ---- the beginning */

void
pty_prepare(struct pty *t)
{
	child_prepare(&t->entry, note_end);
	child_add_item(&t->entry, &t->out, output_ready);
}

/* ---- the end of the session */

static void
hang_up_all(void *arg)
{
	(void)arg;
	child_lock(&pty_table);
	for (size_t i = 0; i < pty_table.count; i++) {
		const struct child_entry *c = pty_table.all[i];

		if (!child_is_reaped(c)) {
			kill(c->child.pid, SIGHUP);
			kill(c->child.pid, SIGCONT);
		}
	}
	child_unlock(&pty_table);
}

void
pty_hang_up_all(void)
{
	struct err ignored;
	bool any;

	child_lock(&pty_table);
	any = child_living(&pty_table) > 0;
	child_unlock(&pty_table);
	if (any) /* else the loop may not exist */
		(void)!loop_call(hang_up_all, NULL, &ignored);
}
