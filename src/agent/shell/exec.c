/* exec.c: runs a command for a caller. */
#include "agent/shell/exec.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/run/activity.h"
#include "agent/run/ending.h"
#include "agent/run/interrupt.h"
#include "agent/shell/proc.h"
#include "agent/shell/script.h"
#include "common/clock.h"
#include "common/mem.h"

enum { TIMEOUT_EXIT_CODE = 124, KILLED_EXIT_CODE = 137 };

static int64_t
deadline_of(const struct exec *x)
{
	int64_t at = x->timeout_ms > 0 ? clock_ms() + x->timeout_ms : 0;

	activity_limit(at);
	return at;
}

static void
init_pump(const struct exec *x, struct pump *p)
{
	*p = (struct pump){
		.out = { -1, -1 },
		.status_fd = -1,
		.script_fd = -1,
		.pidfd = -1,
		.wake_fd = -1,
		.quiet_ms = x->quiet_ms,
		.output = x->output,
		.quiet = x->quiet,
		.output_ctx = x->ctx,
	};
}

/* True when the command must not begin or go on; *out gets the reason. */
static bool
must_stop(struct interrupt_job *j, struct shell_outcome *out)
{
	switch (interrupt_told(j)) {
	case INTERRUPT_ASKED:
		out->interrupted = true;
		out->exit_code = INTERRUPT_EXIT_CODE;
		return true;
	case INTERRUPT_DESTROYED:
		out->destroyed = true;
		out->exit_code = KILLED_EXIT_CODE;
		return true;
	case INTERRUPT_NOT:
	default:
		return false;
	}
}

/* Sets *out after shell_hold() has failed: interrupted, or timed out. */
static int
explain_not_run(struct interrupt_job *j, struct shell_outcome *out,
    const struct err *e)
{
	if (e->kind != ERR_BUSY)
		return -1;
	if (!must_stop(j, out)) {
		out->timed_out = true;
		out->exit_code = TIMEOUT_EXIT_CODE;
	}
	return 0;
}

static int
run_in_shell(const struct exec *x, struct interrupt_job *j,
    struct shell_outcome *out, struct err *e)
{
	struct shell_command c = { .command = x->command,
		.env = x->env,
		.cwd = x->cwd,
		.job = j,
		.deadline_ms = deadline_of(x) };
	struct shell *s;
	struct pump p;
	int rc = 0;

	init_pump(x, &p);
	if (shell_hold(x->shell, j, c.deadline_ms, &s, e) < 0)
		return explain_not_run(j, out, e);
	if (!must_stop(j, out))
		rc = shell_run(s, &c, &p, out, e);
	shell_release(s);
	return rc;
}

/*
 * Registers the command before it is counted as running: a caller that sees it
 * run must be able to interrupt it.
 */
static int
enter_job(const struct exec *x, struct interrupt_job *j, struct err *e)
{
	struct interrupt_name n = { .id = "", .shell = x->shell };

	if (x->execution != NULL) {
		n.id = x->execution->id;
		n.route = x->execution->route;
		n.client = x->execution->client;
		n.command = x->command;
	}
	if (interrupt_enter(j, &n, e) < 0)
		return -1;
	if (x->is_work)
		activity_begin(ACTIVITY_RUNNING);
	return 0;
}

static void
leave_job(const struct exec *x, struct interrupt_job *j)
{
	if (x->is_work)
		activity_end(ACTIVITY_RUNNING);
	interrupt_end(j);
}

int
exec_in_shell(const struct exec *x, struct shell_outcome *out, struct err *e)
{
	struct interrupt_job j;
	int rc;

	*out = (struct shell_outcome){ 0 };
	if (enter_job(x, &j, e) < 0)
		return -1;
	rc = run_in_shell(x, &j, out, e);
	leave_job(x, &j);
	return rc;
}

int
exec_prepare(const struct exec *x, struct interrupt_job *job,
    int64_t deadline_ms, struct buf *script, char cwd[SHELL_PATH_MAX],
    struct err *e)
{
	auto_buf struct buf state = { 0 };
	struct shell *s;
	int rc;

	str_copy(cwd, SHELL_PATH_MAX, "/workspace");
	if (!str_equal(x->shell, EXEC_SESSIONLESS)) {
		if (shell_hold(x->shell, job, deadline_ms, &s, e) < 0)
			return -1;
		rc = shell_state(s, &state, e);
		shell_cwd(x->shell, cwd);
		shell_release(s);
		if (rc < 0)
			return -1;
	}
	if (x->cwd[0] == '/') {
		str_copy(cwd, SHELL_PATH_MAX, x->cwd);
	} else if (x->cwd[0] != '\0') {
		size_t had = strlen(cwd), room = SHELL_PATH_MAX - had;

		if (snprintf(cwd + had, room, "/%s", x->cwd) >= (int)room)
			return err_field(e, "cwd", "is too long");
	}
	script_alone(script, state.data, x->env, x->command, x->input);
	return 0;
}

/* Starts a bash with new output pipes; the pump gets their read ends. */
static int
start_alone(const struct exec *x, const struct buf *script, const char *cwd,
    struct pump *p, struct child *c, struct err *e)
{
	auto_fd int out = -1, err = -1;
	int ends[2];

	for (int i = 0; i < 2; i++) {
		if (pipe2(ends, O_CLOEXEC) < 0)
			return err_errno(e, "pipe");
		p->out[i] = ends[0];
		*(i == 0 ? &out : &err) = ends[1];
		fcntl(ends[0], F_SETFL, O_NONBLOCK);
	}
	return shell_proc_alone(script,
	    &(struct shell_proc_place){ .cwd = cwd,
		.cwd_must = x->cwd[0] != '\0',
		.out = out,
		.err = err },
	    c, e);
}

/* A cwd that does not exist fails the command with exit code 1, not the call. */
static int
refuse_cwd(const struct exec *x, struct shell_outcome *out, struct err *e)
{
	if (e->code != CODE_BAD_CWD)
		return -1;
	x->output(x->ctx, 1, e->msg, strlen(e->msg));
	x->output(x->ctx, 1, "\n", 1);
	out->exit_code = 1;
	return 0;
}

static void
run_child(struct child *c, struct pump *p, struct interrupt_job *j,
    struct shell_outcome *out)
{
	interrupt_root(j, c->pid);
	p->pidfd = c->pidfd;
	p->wake_fd = j->wake;
	p->client_fd = j->name.client;
	out->timed_out = pump_run(p) == PUMP_TIMEOUT;
	p->wake_fd = -1;
	p->client_fd = 0;
	if (must_stop(j, out) || out->timed_out)
		ending_all(p, c->pid);
	pump_drain(p);
	interrupt_root(j, 0);
	if (out->interrupted || out->destroyed)
		(void)spawn_wait(c);
	else
		out->exit_code = spawn_wait(c);
	if (out->timed_out)
		out->exit_code = TIMEOUT_EXIT_CODE;
}

static int
run_beside(const struct exec *x, struct interrupt_job *j,
    struct shell_outcome *out, struct err *e)
{
	auto_buf struct buf script = { 0 };
	char cwd[SHELL_PATH_MAX];
	int64_t deadline_ms = deadline_of(x);
	struct child c;
	struct pump p;

	init_pump(x, &p);
	if (exec_prepare(x, j, deadline_ms, &script, cwd, e) < 0)
		return explain_not_run(j, out, e);
	if (must_stop(j, out)) /* interrupted before its start */
		return 0;
	if (start_alone(x, &script, cwd, &p, &c, e) < 0) {
		for (int i = 0; i < 2; i++)
			mem_close_fd(&p.out[i]);
		return refuse_cwd(x, out, e);
	}
	out->began = true;
	if (x->started != NULL)
		x->started(x->ctx, c.pid);
	p.deadline_ms = deadline_ms;
	/* only a stream can be blocked by a client that does not read */
	if (x->quiet != NULL)
		interrupt_limit(j, deadline_ms);
	run_child(&c, &p, j, out);
	pump_close(&p);
	return 0;
}

int
exec_beside(const struct exec *x, struct shell_outcome *out, struct err *e)
{
	struct interrupt_job j;
	int rc;

	*out = (struct shell_outcome){ 0 };
	if (enter_job(x, &j, e) < 0)
		return -1;
	rc = run_beside(x, &j, out, e);
	leave_job(x, &j);
	return rc;
}
