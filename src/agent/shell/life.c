/*
 * life.c: starts, writes to, waits for and kills the bash of one persistent
 * shell.  The caller holds the shell (shell_hold()).
 */
#include <stdio.h>

#include "agent/shell/internal.h"
#include "common/clock.h"

enum { TALK_MS = 30000 }; /* for bash to run a script of ours */

const char *
shell_home(const struct shell *s)
{
	return s->cwd != NULL ? s->cwd : "/workspace";
}

int
shell_start(struct shell *s, const char *cwd, struct err *e)
{
	lock_take(&s->exports_lock);
	answers_reset(&s->answers);
	lock_drop(&s->exports_lock);
	if (shell_proc_start(&s->proc, cwd, s->env, &s->env_seq, e) < 0)
		return -1;
	s->pid = s->proc.child.pid;
	s->over = false;
	return 0;
}

bool
shell_lives(const struct shell *s)
{
	return s->proc.child.pid > 0 && !shell_proc_ended(&s->proc);
}

int
shell_reap(struct shell *s)
{
	int status;

	s->pid = -1;
	status = spawn_wait(&s->proc.child);
	shell_proc_close(&s->proc);
	return status;
}

void
shell_kill(struct shell *s)
{
	proctree_end(&s->orphans);
	proctree_free(&s->orphans);
	if (s->proc.child.pid <= 0)
		return;
	proctree_kill(s->proc.child.pid, NULL);
	(void)shell_reap(s);
}

int
shell_report_end(struct shell *s, struct err *e)
{
	int status = shell_reap(s);
	char how[SPAWN_HOW_MAX];

	s->over = true;
	spawn_describe(status, how);
	err_set(e, ERR_GONE, CODE_SESSION_TERMINATED,
	    "Session '%s' was terminated: its shell exited with %s", s->name,
	    how);
	snprintf(e->more, sizeof(e->more), "{\"exitCode\": %d}", status);
	return -1;
}

int
shell_destroyed(const char *name, struct err *e)
{
	return err_set(e, ERR_GONE, CODE_SESSION_DESTROYED,
	    "Session '%s' was destroyed", name);
}

int
shell_revive(struct shell *s, struct err *e)
{
	if (s->proc.child.pid <= 0)
		return shell_start(s, shell_home(s), e);
	return shell_proc_ended(&s->proc) ? shell_report_end(s, e) : 0;
}

/* ---- writing to bash */

void
shell_connect(const struct shell *s, const struct buf *script, struct pump *p)
{
	p->status_fd = s->proc.from;
	p->pidfd = s->proc.child.pidfd;
	p->script_fd = s->proc.to;
	p->script = script->data;
	p->script_len = script->len;
}

void
shell_read_answers(struct shell *s, const char *data, size_t len)
{
	lock_take(&s->exports_lock);
	answers_read(&s->answers, data, len);
	lock_drop(&s->exports_lock);
}

enum pump_end
shell_send_script(struct shell *s, const struct buf *script,
    pump_status_fn *status, void *ctx)
{
	struct pump p = {
		.out = { -1, -1 },
		.wake_fd = -1,
		.deadline_ms = clock_ms() + TALK_MS,
		.status = status,
		.status_ctx = ctx,
	};

	shell_connect(s, script, &p);
	return pump_run(&p);
}
