/* start.c: starts a background process. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "agent/base/proctree.h"
#include "agent/process/internal.h"
#include "agent/process/process.h"
#include "agent/run/activity.h"
#include "agent/shell/proc.h"
#include "common/id.h"
#include "common/mem.h"
#include "common/utf8.h"

enum { RANDOM_LEN = 6 };

static void
make_id(char id[PROCESS_ID_MAX])
{
	struct timespec now;
	char random[RANDOM_LEN + 1];

	clock_gettime(CLOCK_REALTIME, &now);
	id_random(random, RANDOM_LEN);
	snprintf(id, PROCESS_ID_MAX, "proc_%lld_%s",
	    (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000, random);
}

static struct process *
new_process(const struct process_options *w)
{
	struct process *p = xcalloc(1, sizeof(*p));
	size_t len = strlen(w->exec.command);

	*p = (struct process){ .log = { .fd = -1 }, .input = -1 };
	child_init(&p->entry, &process_table, p->rec.id);
	if (w->id != NULL)
		str_copy(p->rec.id, sizeof(p->rec.id), w->id);
	else
		make_id(p->rec.id);
	str_copy(p->rec.shell, sizeof(p->rec.shell), w->exec.shell);
	if (len > PROCESS_COMMAND_MAX)
		len = utf8_whole(w->exec.command, PROCESS_COMMAND_MAX);
	p->rec.command = xmalloc(len + 1);
	memcpy(p->rec.command, w->exec.command, len);
	p->rec.command[len] = '\0';
	p->rec.auto_cleanup = w->auto_cleanup;
	clock_iso(p->rec.start);
	return p;
}

/* ---- descriptors */

/* The ends of pipes that the new process gets. */
struct child_ends {
	int out[2], input;
};

static void
close_ends(struct child_ends *n)
{
	mem_close_fd(&n->out[0]);
	mem_close_fd(&n->out[1]);
	mem_close_fd(&n->input);
}

static int
make_pipe(int *ours, int *childs, bool child_writes, struct err *e)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(e, "pipe");
	*ours = ends[child_writes ? 0 : 1];
	*childs = ends[child_writes ? 1 : 0];
	fcntl(*ours, F_SETFL, O_NONBLOCK);
	return 0;
}

static int
make_timer(struct process *p, int64_t ms, struct err *e)
{
	struct itimerspec at = { .it_value = { .tv_sec = ms / 1000,
				     .tv_nsec = ms % 1000 * 1000000 } };

	if (ms <= 0)
		return 0;
	activity_limit(clock_ms() + ms);
	p->timer.fd =
	    timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (p->timer.fd < 0 || timerfd_settime(p->timer.fd, 0, &at, NULL) < 0)
		return err_errno(e, "timerfd");
	return 0;
}

static int
make_ends(struct process *p, const struct process_options *w,
    struct child_ends *n, struct err *e)
{
	for (int i = 0; i < 2; i++)
		if (make_pipe(&p->out[i].in.fd, &n->out[i], true, e) < 0)
			return -1;
	if (!w->no_input && make_pipe(&p->input, &n->input, false, e) < 0)
		return -1;
	return make_timer(p, w->exec.timeout_ms, e);
}

static void
close_ours(struct process *p)
{
	mem_close_fd(&p->out[0].in.fd);
	mem_close_fd(&p->out[1].in.fd);
	mem_close_fd(&p->input);
	mem_close_fd(&p->timer.fd);
}

/* ---- starting; with the lock held, so that two starts cannot use one id */

static void
open_log(struct process *p)
{
	char path[PROCESS_PATH_MAX];
	struct err ignored;

	process_store_log(p->rec.id, path);
	/* on a full disk the process runs all the same, without a log */
	(void)!ring_create(&p->log, path, &ignored);
}

/*
 * Makes an entry that has failed already, if the working directory is missing:
 * the command fails then, not the call.  -1 for any other error.
 */
static int
fail_at_once(struct process *p, struct err *e)
{
	struct process_end how = { .status = PROCESS_FAILED, .exit_code = 1 };

	if (e->code != CODE_BAD_CWD)
		return -1;
	open_log(p);
	ring_append(&p->log, RING_STDERR, e->msg, strlen(e->msg));
	ring_append(&p->log, RING_STDERR, "\n", 1);
	clock_iso(how.at);
	p->rec.end = how;
	p->ended_ms = clock_ms();
	process_store_write(&p->rec);
	child_enter(&p->entry);
	process_ended(p, &how);
	return 0;
}

static int
spawn_shell(struct process *p, const struct process_options *w,
    const struct buf *script, const char *cwd, struct err *e)
{
	__attribute__((cleanup(close_ends))) struct child_ends n = { { -1, -1 },
		-1 };

	if (make_ends(p, w, &n, e) < 0)
		return -1;
	errno = 0;
	if (shell_proc_alone(script,
		&(struct shell_proc_place){ .cwd = cwd,
		    .cwd_must = w->exec.cwd[0] != '\0',
		    .out = n.out[0],
		    .err = n.out[1],
		    .input = n.input >= 0 ? n.input : 0 },
		&p->entry.child, e) == 0)
		return 0;
	if (errno == EAGAIN && e->code != CODE_BAD_CWD)
		return err_set(e, ERR_LIMITED, CODE_TOO_MANY_PROCESSES,
		    "the session has no room for another process");
	return -1;
}

static int
start_locked(struct process *p, const struct process_options *w,
    const struct buf *script, const char *cwd, struct err *e)
{
	if (process_admit(p->rec.id, e) < 0)
		return -1;
	if (spawn_shell(p, w, script, cwd, e) < 0) {
		close_ours(p);
		return fail_at_once(p, e);
	}
	p->rec.pid = p->entry.child.pid;
	open_log(p);
	process_store_write(&p->rec);
	child_enter(&p->entry);
	return 0;
}

/*
 * Closes a process that ran but that the loop could not watch.  The lock is
 * needed because another thread may have found the process.
 */
static void
undo_start(struct process *p)
{
	child_lock(&process_table);
	p->rec.end.status = PROCESS_ERROR;
	close_ours(p);
	child_unlock(&process_table);
}

int
process_start(const struct process_options *w, struct process **out,
    struct err *e)
{
	auto_buf struct buf script = { 0 };
	char cwd[SHELL_PATH_MAX];
	struct exec x = w->exec;
	struct process *p;
	int rc;

	x.input = !w->no_input;
	if (exec_prepare(&x, NULL, 0, &script, cwd, e) < 0)
		return -1;
	p = new_process(w);
	process_prepare(p);
	process_load();
	child_lock(&process_table);
	rc = start_locked(p, w, &script, cwd, e);
	child_unlock(&process_table);
	if (rc == 0 && p->rec.pid > 0) {
		activity_begin(ACTIVITY_RUNNING);
		rc = child_attach(&p->entry, e);
		if (rc < 0) {
			activity_end(ACTIVITY_RUNNING);
			undo_start(p);
		}
	}
	if (rc < 0)
		process_release(p);
	else
		*out = p;
	return rc;
}
