/* proc.c: starts bash processes and finds their directory. */
#include "agent/shell/proc.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/shell/envset.h"
#include "agent/shell/script.h"
#include "agent/shell/shell.h"
#include "common/mem.h"
#include "common/str.h"

static const char *const BASH[] = { "/bin/bash", "--norc", NULL };

/* Makes a pipe; the caller owns both ends. */
static int
make_pipe(int *read_end, int *write_end, struct err *e)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(e, "pipe");
	*read_end = ends[0];
	*write_end = ends[1];
	return 0;
}

int
shell_proc_start(struct shell_proc *p, const char *cwd, const json_t *env,
    int64_t *env_seq, struct err *e)
{
	auto_free char **envp = envset_envp_with(env, env_seq);
	auto_fd int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	auto_fd int in = -1, to = -1;
	auto_fd int from = -1, out = -1;
	auto_buf struct buf first = { 0 };

	if (null < 0)
		return err_errno(e, "/dev/null");
	if (make_pipe(&in, &to, e) < 0 || make_pipe(&from, &out, e) < 0)
		return -1;
	/* bash does not run yet, but the script fits into the pipe's buffer */
	script_greet(&first);
	if (write(to, first.data, first.len) != (ssize_t)first.len)
		return err_errno(e, "cannot write to the shell");
	if (spawn_start(&(struct spawn){ .argv = BASH,
			    .envp = envp,
			    .cwd = cwd,
			    .in = in,
			    .out = out,
			    .err = null },
		&p->child, e) < 0)
		return -1;
	fcntl(to, F_SETFL, O_NONBLOCK);
	p->to = take_fd(&to);
	p->from = take_fd(&from);
	return 0;
}

bool
shell_proc_ended(const struct shell_proc *p)
{
	struct pollfd f = { p->child.pidfd, POLLIN, 0 };

	return poll(&f, 1, 0) == 1;
}

void
shell_proc_close(struct shell_proc *p)
{
	close(take_fd(&p->to));
	close(take_fd(&p->from));
}

void
shell_proc_cwd(pid_t pid, char *out)
{
	static const char GONE[] = " (deleted)";
	char link[32];
	ssize_t n = -1;

	snprintf(link, sizeof(link), "/proc/%d/cwd", (int)pid);
	if (pid > 0)
		n = readlink(link, out, SHELL_PATH_MAX - 1);
	if (n > 0) {
		out[n] = '\0';
		if ((size_t)n < sizeof(GONE) ||
		    !str_equal(out + n - (sizeof(GONE) - 1), GONE))
			return;
	}
	str_copy(out, SHELL_PATH_MAX, "/workspace");
}

int
shell_proc_alone(const struct buf *script, const struct shell_proc_place *at,
    struct child *c, struct err *e)
{
	int64_t seq;
	auto_free char **envp = envset_envp_with(at->env, &seq);
	auto_fd int in = spawn_text(script->data, script->len, e);

	if (in < 0)
		return -1;
	return spawn_start(&(struct spawn){ .argv = BASH,
			       .envp = envp,
			       .cwd = at->cwd,
			       .cwd_must = at->cwd_must,
			       .in = in,
			       .out = at->out,
			       .err = at->err,
			       .more = at->input,
			       .join = at->join,
			       .join_count = at->join_count,
			       .cpu_seconds = at->cpu_seconds },
	    c, e);
}

int
shell_proc_terminal(const struct buf *script, const char *cwd, bool cwd_must,
    int terminal, struct child *c, struct err *e)
{
	static const char *const READER[] = { "/bin/bash", "--norc",
		"/proc/self/fd/3", NULL };
	int64_t seq;
	auto_free char **envp = envset_envp(&seq);
	auto_fd int file = spawn_text(script->data, script->len, e);

	if (file < 0)
		return -1;
	return spawn_start(&(struct spawn){ .argv = READER,
			       .envp = envp,
			       .cwd = cwd,
			       .cwd_must = cwd_must,
			       .in = terminal,
			       .out = terminal,
			       .err = terminal,
			       .more = file,
			       .terminal = true },
	    c, e);
}
