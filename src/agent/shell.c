/* shell.c: the persistent shells of a session. */
#include "agent/shell.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/envset.h"
#include "agent/interrupt.h"
#include "agent/proctree.h"
#include "agent/script.h"
#include "agent/shell_proc.h"
#include "common/clock.h"
#include "common/id.h"
#include "common/mem.h"

enum { STATE_MAX = 4 * 1024 * 1024, STATE_MS = 30000 };

struct shell {
	pthread_mutex_t held;
	char name[SHELL_NAME_MAX];
	struct shell_proc proc; /* pid -1: none */
	int64_t seq;
	int64_t env_seq;
};

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct shell *shells[SHELLS_MAX]; /* never freed: threads may wait */
static char fifo_dir[64];

void
shell_open(const char *instance)
{
	snprintf(fifo_dir, sizeof(fifo_dir), "/tmp/.sandlease-%s", instance);
	interrupt_open(instance);
}

/* ---- the table */

static struct shell *
find(const char *name, bool make)
{
	for (size_t i = 0; i < SHELLS_MAX; i++) {
		struct shell *s = shells[i];

		if (s != NULL && str_equal(s->name, name))
			return s;
		if (s != NULL)
			continue;
		if (!make)
			return NULL;
		s = shells[i] = xcalloc(1, sizeof(*s));
		pthread_mutex_init(&s->held, NULL);
		str_copy(s->name, sizeof(s->name), name);
		s->proc.child = (struct child){ -1, -1 };
		return s;
	}
	return NULL;
}

static int
lock_until(pthread_mutex_t *m, int64_t deadline_ms)
{
	struct timespec at = { .tv_sec = deadline_ms / 1000,
		.tv_nsec = deadline_ms % 1000 * 1000000 };

	if (deadline_ms == 0)
		return pthread_mutex_lock(m);
	return pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &at);
}

int
shell_hold(const char *name, int64_t deadline_ms, struct shell **out,
    struct err *e)
{
	struct shell *s;

	pthread_mutex_lock(&table_lock);
	s = find(name, true);
	pthread_mutex_unlock(&table_lock);
	if (s == NULL)
		return err_set(e, ERR_LIMITED, "too_many_sessions",
		    "there may be %d shell sessions", SHELLS_MAX);
	if (lock_until(&s->held, deadline_ms) != 0)
		return err_set(e, ERR_BUSY, "busy",
		    "the shell runs another command");
	*out = s;
	return 0;
}

void
shell_release(struct shell *s)
{
	pthread_mutex_unlock(&s->held);
}

void
shell_cwd(const char *name, char out[SHELL_PATH_MAX])
{
	const struct shell *s;
	pid_t pid = -1;

	pthread_mutex_lock(&table_lock);
	s = find(name, false);
	if (s != NULL)
		pid = __atomic_load_n(&s->proc.child.pid, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&table_lock);
	shell_proc_cwd(pid, out);
}

/* ---- the process */

static int
gone(struct shell *s, int status, struct err *e)
{
	shell_proc_close(&s->proc);
	return err_set(e, ERR_GONE, "session_terminated",
	    "Session '%s' was terminated: its shell ended with exit code %d",
	    s->name, status);
}

/* A shell that lives, or ERR_GONE for one that died while nobody looked. */
static int
revive(struct shell *s, struct shell_outcome *out, struct err *e)
{
	if (s->proc.child.pid > 0) {
		if (!shell_proc_ended(&s->proc))
			return 0;
		out->exit_code = spawn_wait(&s->proc.child);
		return gone(s, out->exit_code, e);
	}
	return shell_proc_start(&s->proc, "/workspace", &s->env_seq, e);
}

struct reading {
	struct buf text;
	const char *end; /* the line that ends it */
	bool overflow;
};

static bool
read_state(void *ctx, const char *data, size_t len)
{
	struct reading *r = ctx;
	size_t want = strlen(r->end);

	if (r->text.len + len > STATE_MAX) {
		/* only the end is looked for from here on */
		r->overflow = true;
		memmove(r->text.data, r->text.data + r->text.len - want, want);
		r->text.len = want;
	}
	buf_add(&r->text, data, len);
	return r->text.len >= want &&
	    strcmp(r->text.data + r->text.len - want, r->end) == 0;
}

/* Talks to the shell without running anything of the tenant's. */
static enum pump_end
talk(struct shell *s, const struct buf *script, pump_status_fn *status,
    void *ctx)
{
	struct pump p = {
		.out = { -1, -1 },
		.status_fd = s->proc.from,
		.pidfd = s->proc.child.pidfd,
		.wake_fd = -1,
		.script_fd = s->proc.to,
		.script = script->data,
		.script_len = script->len,
		.deadline_ms = clock_ms() + STATE_MS,
		.status = status,
		.status_ctx = ctx,
	};

	return pump_run(&p);
}

int
shell_state(struct shell *s, struct buf *out, struct err *e)
{
	auto_buf struct buf script = { 0 };
	char token[ID_REQUEST_LEN + 1], end[ID_REQUEST_LEN + 3];
	struct reading r = { .end = end };
	enum pump_end how;

	if (s->proc.child.pid <= 0)
		return 0;
	s->env_seq = envset_script(s->env_seq, &script);
	id_random(token, ID_REQUEST_LEN);
	snprintf(end, sizeof(end), "\n%s\n", token);
	script_dump(&script, token);
	how = talk(s, &script, read_state, &r);
	if (how == PUMP_TOLD && !r.overflow) {
		buf_add(out, r.text.data, r.text.len - strlen(end));
		buf_free(&r.text);
		return 0;
	}
	buf_free(&r.text);
	if (how == PUMP_TOLD)
		return err_set(e, ERR_INTERNAL, "command_execution_error",
		    "the shell's state has more than %d bytes", STATE_MAX);
	kill(s->proc.child.pid, SIGKILL);
	return gone(s, spawn_wait(&s->proc.child), e);
}

/* ---- one command */

struct waiting {
	int64_t seq;
	int exit_code;
	bool ended; /* `x` has come */
	char line[64];
	size_t len;
};

/* One line of the shell's.  Lines of no meaning are the tenant's own fun. */
static bool
take_line(struct waiting *w)
{
	int64_t seq;
	int status;

	w->line[w->len] = '\0';
	if (sscanf(w->line, "x %" SCNd64 " %d", &seq, &status) == 2 &&
	    seq == w->seq) {
		w->exit_code = status & 255;
		w->ended = true;
	}
	return w->ended && sscanf(w->line, "d %" SCNd64, &seq) == 1 &&
	    seq == w->seq;
}

static bool
read_answer(void *ctx, const char *data, size_t len)
{
	struct waiting *w = ctx;

	for (size_t i = 0; i < len; i++) {
		if (data[i] != '\n') {
			if (w->len < sizeof(w->line) - 1)
				w->line[w->len++] = data[i];
			continue;
		}
		if (take_line(w))
			return true;
		w->len = 0;
	}
	return false;
}

/* A fifo in a directory that the tenant may remove at any time. */
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
		unlink(f->path[i]);
}

static int
open_fifos(struct fifos *f, struct pump *p, struct err *e)
{
	static const char *const ENDS[] = { "out", "err" };
	char id[ID_REQUEST_LEN + 1];

	id_random(id, ID_REQUEST_LEN);
	for (int i = 0; i < 2; i++) {
		snprintf(f->path[i], sizeof(f->path[i]), "%s/%s.%s", fifo_dir,
		    id, ENDS[i]);
		p->out[i] = make_fifo(f->path[i], e);
		if (p->out[i] < 0) {
			e->code = "command_execution_error";
			return -1;
		}
	}
	return 0;
}

/* Replaces the shell by one that is like it was before the command. */
static void
replace(struct shell *s, const struct proctree *before, const char *cwd,
    const char *state, struct shell_outcome *out)
{
	auto_buf struct buf script = { 0 };
	struct waiting w = { .seq = ++s->seq };
	struct err e;

	proctree_kill(s->proc.child.pid, before);
	spawn_wait(&s->proc.child);
	shell_proc_close(&s->proc);
	if (shell_proc_start(&s->proc, cwd, &s->env_seq, &e) < 0)
		return;
	script_restore(&script, state);
	buf_fmt(&script,
	    "\\builtin printf 'x %" PRId64 " 0\\nd %" PRId64 "\\n'\n", w.seq,
	    w.seq);
	if (talk(s, &script, read_answer, &w) != PUMP_TOLD) {
		kill(s->proc.child.pid, SIGKILL);
		spawn_wait(&s->proc.child);
		shell_proc_close(&s->proc);
		return;
	}
	out->restored = state != NULL;
}

struct before {
	char cwd[SHELL_PATH_MAX];
	struct proctree procs;
	struct buf state;
};

/*
 * The shell has been asked for its state and stands still, or will; also when
 * its command ended in that moment.
 */
static void
replace_interrupted(struct shell *s, const struct shell_command *c,
    const struct pump *p, const struct before *b, struct shell_outcome *out)
{
	pid_t pid = s->proc.child.pid;
	auto_buf struct buf state = { 0 };
	auto_tree struct proctree spare = { 0 };
	char cwd[SHELL_PATH_MAX];
	bool told;

	/* bash that waits for a command runs its trap when a line has come */
	if (p->script_len == 0)
		(void)!write(s->proc.to, "\n", 1);
	told = interrupt_state(&s->proc.child, &state);
	str_copy(cwd, sizeof(cwd), b->cwd);
	if (str_empty(c->cwd))
		shell_proc_cwd(pid, cwd);
	proctree_older(pid, c->job->since, &spare);
	out->exit_code = INTERRUPT_EXIT_CODE;
	replace(s, &spare, cwd, told ? state.data : NULL, out);
}

static int
run_held(struct shell *s, const struct shell_command *c, struct pump *p,
    struct before *b, struct shell_outcome *out, struct err *e)
{
	auto_buf struct buf script = { 0 };
	__attribute__((cleanup(remove_fifos))) struct fifos f = { 0 };
	struct waiting w = { .seq = ++s->seq };
	enum pump_end how;

	if (open_fifos(&f, p, e) < 0)
		return -1;
	s->env_seq = envset_script(s->env_seq, &script);
	script_run(&script,
	    &(struct script_command){ .seq = w.seq,
		.command = c->command,
		.env = c->env,
		.cwd = c->cwd,
		.back = b->cwd,
		.out = f.path[0],
		.err = f.path[1] });
	p->status_fd = s->proc.from;
	p->pidfd = s->proc.child.pidfd;
	p->script_fd = s->proc.to;
	p->script = script.data;
	p->script_len = script.len;
	p->deadline_ms = c->deadline_ms;
	p->status = read_answer;
	p->status_ctx = &w;
	if (c->job != NULL) {
		if (!interrupt_begin(c->job, s->proc.child.pid, true)) {
			out->interrupted = true;
			out->exit_code = INTERRUPT_EXIT_CODE;
			return 0;
		}
		p->wake_fd = c->job->wake;
	}
	how = pump_run(p);
	out->interrupted = c->job != NULL && interrupt_over(c->job);
	if (how == PUMP_TIMEOUT) {
		out->timed_out = true;
		out->exit_code = 124;
		replace(s, &b->procs, b->cwd, b->state.data, out);
	} else if (out->interrupted) {
		replace_interrupted(s, c, p, b, out);
	}
	pump_drain(p);
	if (how == PUMP_EXITED && !out->interrupted) {
		out->exit_code = spawn_wait(&s->proc.child);
		return gone(s, out->exit_code, e);
	}
	if (how == PUMP_TOLD && !out->interrupted) {
		out->exit_code = w.exit_code;
		if (p->out[0] >= 0 && !p->opened[0])
			return err_set(e, ERR_INTERNAL,
			    "command_execution_error",
			    "the shell could not open the command's output");
	}
	return 0;
}

int
shell_run(struct shell *s, const struct shell_command *c, struct pump *p,
    struct shell_outcome *out, struct err *e)
{
	struct before b = { 0 };
	int rc;

	*out = (struct shell_outcome){ 0 };
	if (revive(s, out, e) < 0)
		return -1;
	shell_proc_cwd(s->proc.child.pid, b.cwd);
	if (c->deadline_ms > 0) {
		/* what a timeout must leave alone, and bring back */
		proctree_take(s->proc.child.pid, &b.procs);
		if (shell_state(s, &b.state, e) < 0 && e->kind == ERR_GONE) {
			proctree_free(&b.procs);
			return -1;
		}
	}
	rc = run_held(s, c, p, &b, out, e);
	pump_close(p);
	proctree_free(&b.procs);
	buf_free(&b.state);
	return rc;
}
