/*
 * run.c: runs one command in a persistent shell, and ends it at its deadline
 * or when it is interrupted.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/lock.h"
#include "agent/base/proctree.h"
#include "agent/run/bash_notice.h"
#include "agent/run/ending.h"
#include "agent/shell/envset.h"
#include "agent/shell/internal.h"
#include "agent/shell/script.h"
#include "common/clock.h"
#include "common/mem.h"

enum { YIELD_MS = 1000 }; /* for the shell to leave its killed command */

static char fifo_dir[64];

void
shell_run_open(const char *instance)
{
	snprintf(fifo_dir, sizeof(fifo_dir), "/tmp/.sandlease-%s", instance);
}

const char *
shell_fifos(void)
{
	return fifo_dir;
}

/* ---- the output of a command */

/*
 * Makes and opens a fifo.  Its directory is made again if it is missing: the
 * tenant may remove it at any time.
 */
static int
make_fifo(const char *path, struct err *e)
{
	int fd;

	if (mkfifo(path, 0600) < 0 &&
	    (errno != ENOENT ||
		(mkdir(fifo_dir, 0700) < 0 && errno != EEXIST) ||
		mkfifo(path, 0600) < 0))
		return err_errno(e, "mkfifo %s", path);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return err_errno(e, "open %s", path);
	return fd;
}

struct fifos {
	char path[2][128];
};

static void
remove_fifos(struct fifos *f)
{
	for (int i = 0; i < 2; i++)
		if (f->path[i][0] != '\0')
			unlink(f->path[i]);
}

static int
open_fifos(struct fifos *f, struct pump *p, struct err *e)
{
	static atomic_uint last;
	unsigned number = atomic_fetch_add(&last, 1);

	for (int i = 0; i < 2; i++) {
		snprintf(f->path[i], sizeof(f->path[i]), "%s/%x%c", fifo_dir,
		    number, "oe"[i]);
		p->out[i] = make_fifo(f->path[i], e);
		if (p->out[i] < 0) {
			e->code = CODE_COMMAND_EXECUTION_ERROR;
			return -1;
		}
	}
	return 0;
}

/* ---- one command */

struct running_command {
	struct shell *shell;
	struct pump *pump;
	int64_t seq;
	bool moves;      /* runs in another cwd: over at `d`, not at `x` */
	int64_t env_seq; /* of the shell before this command */
	struct proc_moment since;  /* older processes are of other commands */
	char back[SHELL_PATH_MAX]; /* the shell's directory, if `moves` */
};

static bool
is_command_over(const struct running_command *r)
{
	const struct answers *a = &r->shell->answers;

	return (r->moves ? a->ready : a->ended) == r->seq;
}

static bool
read_answers(void *ctx, const char *data, size_t len)
{
	const struct running_command *r = ctx;

	shell_read_answers(r->shell, data, len);
	return is_command_over(r);
}

/*
 * Kills the command's processes and makes the shell leave the command.  False
 * when the shell does not: it waits in a builtin, has replaced itself by another
 * program (exec), or is dead.
 */
static bool
abort_command(struct running_command *r, const struct proctree *spare)
{
	struct shell *s = r->shell;
	struct pump *p = r->pump;
	auto_buf struct buf script = { 0 };

	kill(s->proc.child.pid, script_abort_signal());
	/* bash may not have read the new variables: send them again */
	s->env_seq = r->env_seq;
	r->seq = ++s->seq;
	r->moves = true;
	buf_add(&script, p->script, p->script_len);
	script_sync(&script, r->seq, r->back);
	p->script = script.data;
	p->script_len = script.len;
	p->wake_fd = -1;
	p->client_fd = 0;
	ending_below(p, s->proc.child.pid, spare);
	/* wait until the shell has run everything that was sent so far */
	p->deadline_ms = clock_ms() + YIELD_MS;
	while (!is_command_over(r) && pump_run(p) == PUMP_TOLD)
		;
	p->script_len = 0;
	/* once more: the shell may have forked before it got the signal */
	if (is_command_over(r))
		ending_below(p, s->proc.child.pid, spare);
	return is_command_over(r);
}

/* Starts a new bash with the old one's directory and last known exports. */
static bool
restart_shell(struct shell *s, const char *cwd)
{
	auto_buf struct buf exports = s->answers.exports;
	auto_buf struct buf script = { 0 };
	struct running_command r = { .shell = s,
		.seq = ++s->seq,
		.moves = true };
	struct err ignored;

	lock_take(&s->exports_lock);
	s->answers.exports = (struct buf){ 0 };
	lock_drop(&s->exports_lock);
	if (shell_start(s, cwd, &ignored) < 0)
		return false;
	script_restore(&script, exports.len > 0 ? exports.data : "", cwd);
	script_sync(&script, r.seq, "");
	if (shell_send_script(s, &script, read_answers, &r) == PUMP_TOLD)
		return true;
	kill(s->proc.child.pid, SIGKILL);
	(void)shell_reap(s);
	return false;
}

/* Ends the command; keeps the shell if it yields, else replaces it. */
static void
abort_or_replace(struct running_command *r, struct shell_outcome *out)
{
	struct shell *s = r->shell;
	pid_t pid = s->proc.child.pid;
	auto_tree struct proctree spare = { 0 };
	char cwd[SHELL_PATH_MAX];

	if (r->back[0] != '\0')
		str_copy(cwd, sizeof(cwd), r->back);
	else
		shell_proc_cwd(pid, cwd);
	proctree_older(pid, r->since, &spare);
	if (abort_command(r, &spare))
		return;
	proctree_kill(pid, &spare);
	(void)shell_reap(s);
	proctree_merge(&s->orphans, &spare);
	out->replaced = true;
	out->restored = restart_shell(s, cwd);
}

/* Ends the command, and hides bash's own notice that it was killed. */
static void
stop_command(struct running_command *r, struct shell_outcome *out)
{
	struct bash_notice_filter f;

	bash_notice_begin(&f, r->pump);
	abort_or_replace(r, out);
	pump_drain(r->pump);
	bash_notice_end(&f, r->pump);
}

static int
conclude(struct running_command *r, enum pump_end how,
    const struct shell_command *c, struct shell_outcome *out, struct err *e)
{
	struct shell *s = r->shell;
	enum interrupt_why why =
	    c->job != NULL ? interrupt_told(c->job) : INTERRUPT_NOT;

	if (why == INTERRUPT_DESTROYED) {
		shell_kill(s);
		return shell_destroyed(s->name, e);
	}
	if (how == PUMP_TIMEOUT) {
		out->timed_out = true;
		out->exit_code = 124;
		stop_command(r, out);
	} else if (why == INTERRUPT_ASKED) {
		out->interrupted = true;
		out->exit_code = INTERRUPT_EXIT_CODE;
		stop_command(r, out);
	} else if (how == PUMP_EXITED) {
		pump_drain(r->pump);
		return shell_report_end(s, e);
	} else {
		out->exit_code = s->answers.exit_code;
	}
	pump_drain(r->pump);
	if (how == PUMP_TOLD && r->pump->out[0] >= 0 && !r->pump->opened[0] &&
	    !out->interrupted)
		return err_set(e, ERR_INTERNAL, CODE_COMMAND_EXECUTION_ERROR,
		    "the shell could not open the command's output");
	return 0;
}

static int
run_command(struct running_command *r, const struct shell_command *c,
    struct shell_outcome *out, struct err *e)
{
	struct shell *s = r->shell;
	struct pump *p = r->pump;
	auto_buf struct buf script = { 0 };
	__attribute__((cleanup(remove_fifos))) struct fifos f = { 0 };

	if (open_fifos(&f, p, e) < 0)
		return -1;
	s->env_seq = envset_script(s->env_seq, &script);
	script_run(&script,
	    &(struct script_command){ .seq = r->seq,
		.command = c->command,
		.env = c->env,
		.cwd = c->cwd,
		.back = r->back,
		.out = f.path[0],
		.err = f.path[1] });
	shell_connect(s, &script, p);
	p->deadline_ms = c->deadline_ms;
	p->status = read_answers;
	p->status_ctx = r;
	p->wake_fd = c->job != NULL ? c->job->wake : -1;
	p->client_fd = c->job != NULL ? c->job->name.client : 0;
	r->since = proctree_now();
	return conclude(r, pump_run(p), c, out, e);
}

int
shell_run(struct shell *s, const struct shell_command *c, struct pump *p,
    struct shell_outcome *out, struct err *e)
{
	struct running_command r = { .shell = s,
		.pump = p,
		.seq = s->seq + 1,
		.moves = !str_empty(c->cwd) };
	int rc;

	*out = (struct shell_outcome){ 0 };
	if (shell_revive(s, e) < 0)
		return -1;
	out->began = true;
	s->seq++;
	r.env_seq = s->env_seq;
	if (r.moves)
		shell_proc_cwd(s->proc.child.pid, r.back);
	rc = run_command(&r, c, out, e);
	pump_close(p);
	return rc;
}
