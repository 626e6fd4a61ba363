/* run.c: runs one attempt, from its start to the end of all its processes. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/attempt/internal.h"
#include "agent/base/proctree.h"
#include "agent/run/activity.h"
#include "agent/run/ending.h"
#include "agent/run/pump.h"
#include "agent/shell/exec.h"
#include "agent/shell/proc.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"

enum {
	LOOK_MS = 100,  /* between two looks at the meters */
	LATE_MS = 1000, /* a busy machine may look late */
	US_PER_SECOND = 1000000,
	LEAVE_MS = 1000,
	EXIT_NOT_RUN = 126,
	EXIT_NO_CWD = 1,
	MARK_MAX = 80,
	/* a process has a little more: the look names the reason */
	CPU_MORE_SECONDS = 1
};

#define MARK "SANDLEASE_EXECUTION"

/* ---- output */

static void
keep_output(void *ctx, int which, const char *data, size_t len)
{
	struct attempt *a = ctx;
	enum ring_stream stream = which == 0 ? RING_STDOUT : RING_STDERR;

	ring_append(&a->log, stream, data, len);
	journal_times_add(&a->times, stream, len, clock_ms() - a->began_ms);
	if (which == 1)
		buf_add_tail(&a->tail, data, len, JOURNAL_TAIL_MAX);
	attempt_news();
}

static void
keep_line(struct attempt *a, const char *text)
{
	keep_output(a, 1, text, strlen(text));
	keep_output(a, 1, "\n", 1);
}

/* ---- start */

static int
make_pipes(struct pump *p, int childs[2], struct err *e)
{
	for (int i = 0; i < 2; i++) {
		int ends[2];

		if (pipe2(ends, O_CLOEXEC) < 0)
			return err_errno(e, "pipe");
		p->out[i] = ends[0];
		childs[i] = ends[1];
		fcntl(ends[0], F_SETFL, O_NONBLOCK);
	}
	return 0;
}

static int
start(struct attempt *a, struct pump *p, struct child *c, struct err *e)
{
	auto_buf struct buf script = { 0 };
	char cwd[SHELL_PATH_MAX];
	const int64_t cpu = a->spec.limits.cpu_seconds;
	struct exec x = { .command = a->spec.command,
		.shell = EXEC_SESSIONLESS };
	int childs[2] = { -1, -1 };
	int rc;

	str_copy(x.cwd, sizeof(x.cwd), a->spec.cwd);
	json_object_set_new(a->spec.env, MARK, json_string(a->rec.id));
	if (exec_prepare(&x, NULL, 0, &script, cwd, e) < 0)
		return -1;
	rc = make_pipes(p, childs, e);
	if (rc == 0)
		rc = shell_proc_alone(&script,
		    &(struct shell_proc_place){ .cwd = cwd,
			.cwd_must = x.cwd[0] != '\0',
			.out = childs[0],
			.err = childs[1],
			.env = a->spec.env,
			.join = a->meters.join,
			.join_count = a->meters.join_count,
			.cpu_seconds = cpu > 0 ? cpu + CPU_MORE_SECONDS : 0 },
		    c, e);
	mem_close_fd(&childs[0]);
	mem_close_fd(&childs[1]);
	return rc;
}

/* ---- limits */

static enum attempt_reason
look(struct attempt *a, pid_t root)
{
	const struct attempt_limits *l = &a->spec.limits;
	struct meter_now now;

	meters_look(&a->meters, root, &now);
	if (now.oom_kills > 0 ||
	    (now.oom_kills < 0 && l->memory_mb > 0 &&
		now.memory > l->memory_mb << 20))
		return REASON_MEMORY;
	if (l->cpu_seconds > 0 && now.cpu_us > l->cpu_seconds * US_PER_SECOND)
		return REASON_CPU;
	return REASON_NONE;
}

/* Passes output on until the attempt ends, or must. */
static enum attempt_reason
watch(struct attempt *a, struct pump *p, pid_t root)
{
	const int64_t wall = a->spec.limits.wall_seconds;
	int64_t end = wall > 0 ? a->began_ms + wall * 1000 : INT64_MAX;

	if (wall > 0) {
		lock_take(&attempt_lock);
		a->deadline_ms = end;
		lock_drop(&attempt_lock);
	}
	for (;;) {
		int64_t next = clock_ms() + LOOK_MS;
		enum attempt_reason why = attempt_told(a);

		if (why != REASON_NONE)
			return why;
		p->deadline_ms = next < end ? next : end;
		if (pump_run(p) == PUMP_EXITED)
			/* unless nobody looked at the clock, as while we were stopped */
			return wall > 0 && clock_ms() > end + LATE_MS
			    ? REASON_TIMED_OUT
			    : REASON_NONE;
		if (clock_ms() >= end)
			return REASON_TIMED_OUT;
		why = look(a, root);
		if (why != REASON_NONE)
			return why;
	}
}

/* ---- the end */

static void
end_processes(struct attempt *a, struct pump *p, pid_t root,
    enum attempt_reason why)
{
	char mark[MARK_MAX];

	p->wake_fd = -1;
	if (why == REASON_TIMED_OUT || why == REASON_CANCELLED)
		ending_all(p, root); /* with time to clean up */
	else if (why != REASON_NONE)
		proctree_kill(root, NULL);
	snprintf(mark, sizeof(mark), MARK "=%s", a->rec.id);
	meters_kill(&a->meters, mark);
	pump_drain(p);
}

static void
set_end(struct attempt *a, int status, enum attempt_reason why,
    struct attempt_record *r)
{
	if (why == REASON_NONE && meters_oom_kills(&a->meters) > 0)
		why = REASON_MEMORY;
	if (why == REASON_NONE && a->spec.limits.cpu_seconds > 0 &&
	    (status == 128 + SIGXCPU))
		why = REASON_CPU;
	/*
	 * The signal that ends a session may reach the command before us.  What
	 * a command says that was told to end is no result: it may be half done.
	 */
	if (why == REASON_NONE &&
	    attempt_is_leaving(status == 128 + SIGTERM ? LEAVE_MS : 0))
		why = REASON_LOST;
	if (why == REASON_NONE)
		why = status == 0 ? REASON_SUCCEEDED : REASON_FAILED;
	r->reason = why;
	r->exit_code = status;
	r->signal = status > 128 && status <= 128 + 64 ? status - 128 : 0;
}

static void
run_child(struct attempt *a, struct pump *p, struct child *c,
    struct attempt_record *r)
{
	enum attempt_reason why;
	struct rusage used;
	int status;

	p->pidfd = c->pidfd;
	p->wake_fd = a->wake;
	why = watch(a, p, c->pid);
	end_processes(a, p, c->pid, why);
	status = spawn_wait_usage(c, &used);
	r->usage.wall_ms = clock_ms() - a->began_ms;
	meters_usage(&a->meters, &used, &r->usage);
	set_end(a, status, why, r);
}

/* Under the lock: other threads may ask for its output already. */
static void
open_files(struct attempt *a)
{
	char path[JOURNAL_PATH_MAX];
	struct err ignored;

	journal_log(a->rec.id, path);
	lock_take(&attempt_lock);
	/* on a full disk it runs all the same, without a log */
	(void)!ring_create(&a->log, path, &ignored);
	lock_drop(&attempt_lock);
	journal_times_create(&a->times, a->rec.id);
}

static void
set_tail(struct attempt *a, struct attempt_record *r)
{
	for (size_t i = 0; i < a->tail.len; i++)
		r->tail[i] = a->tail.data[i] != '\0' ? a->tail.data[i] : '?';
	r->tail[a->tail.len] = '\0';
}

void
attempt_run(struct attempt *a, struct attempt_record *r)
{
	struct pump p = { .out = { -1, -1 },
		.status_fd = -1,
		.script_fd = -1,
		.wake_fd = -1,
		.pidfd = -1,
		.output = keep_output,
		.output_ctx = a };
	struct attempt_disk *disk = NULL;
	struct child c;
	struct err e = { 0 };
	int rc;

	open_files(a);
	rc = attempt_files_write(a, &e);
	if (rc == 0)
		disk = attempt_disk_begin(a);
	a->began_ms = clock_ms();
	if (rc == 0 && start(a, &p, &c, &e) == 0) {
		run_child(a, &p, &c, r);
	} else {
		keep_line(a, e.msg);
		str_copy(r->message, sizeof(r->message), e.msg);
		r->reason = REASON_FAILED;
		r->exit_code =
		    e.code == CODE_BAD_CWD ? EXIT_NO_CWD : EXIT_NOT_RUN;
	}
	pump_close(&p);
	attempt_files_remove(a);
	r->usage.disk_growth = attempt_disk_end(disk);
	journal_times_close(&a->times);
	r->collected = attempt_collect(a);
	set_tail(a, r);
	r->bytes = atomic_load(&a->log.total);
	r->dropped = atomic_load(&a->log.lost);
	r->state = ATTEMPT_ENDED;
	r->ended = clock_wall_ms();
}
