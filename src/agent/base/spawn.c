/* spawn.c: starts a program of the tenant. */
#include "agent/base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/mem.h"

/* For tenant code.  Sandlease's own processes have more: see program.c. */
enum { FILES_MAX = 4096 };

enum stage { STAGE_SETUP, STAGE_JOIN, STAGE_CWD, STAGE_EXEC };

/* Sent by the child when it could not execute the program. */
struct failure {
	enum stage stage;
	int error;
};

static void
reset_signals(void)
{
	sigset_t none;

	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void
limit_files(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_max > FILES_MAX) {
		r = (struct rlimit){ FILES_MAX, FILES_MAX };
		setrlimit(RLIMIT_NOFILE, &r);
	}
}

static void
limit_cpu(int64_t seconds)
{
	struct rlimit r = { (rlim_t)seconds, (rlim_t)seconds };

	if (seconds > 0)
		setrlimit(RLIMIT_CPU, &r);
}

/* The child has one thread, which is all that "0" means in v1. */
static bool
join_groups(const struct spawn *s)
{
	for (size_t i = 0; i < s->join_count; i++)
		if (write(s->join[i], "0", 1) != 1)
			return false;
	return true;
}

static bool
enter_cwd(const struct spawn *s)
{
	if (chdir(s->cwd) == 0)
		return true;
	return !s->cwd_must && (chdir("/home/user") == 0 || chdir("/") == 0);
}

/*
 * Runs between fork and exec: async-signal-safe calls only.  The child has a
 * copy of the wrapper's memory and descriptors and, like the wrapper, is not
 * dumpable: the tenant cannot trace it before exec.  After exec it has neither
 * copy.
 */
static _Noreturn void
exec_program(const struct spawn *s, int report)
{
	struct failure f = { STAGE_SETUP, 0 };
	enum { MORE = 3, REPORT, ASIDE };
	int more = s->more > 0 ? fcntl(s->more, F_DUPFD, ASIDE) : -1;
	int joined = join_groups(s) ? 0 : errno;

	/* report, in, out and err may be 3 or 4, which are set below */
	report = fcntl(report, F_DUPFD, ASIDE);
	if (dup2(s->in, 0) < 0 || dup2(s->out, 1) < 0 || dup2(s->err, 2) < 0 ||
	    dup3(report, REPORT, O_CLOEXEC) < 0)
		_exit(127);
	close(MORE);
	if (s->more > 0 && dup2(more, MORE) < 0)
		_exit(127);
	close_range(REPORT + 1, ~0U, 0);
	setsid();
	reset_signals();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	limit_files();
	limit_cpu(s->cpu_seconds);
	if (joined != 0) {
		f = (struct failure){ STAGE_JOIN, joined };
	} else if (s->terminal && ioctl(0, TIOCSCTTY, 0) < 0) {
		f.error = errno;
	} else if (!enter_cwd(s)) {
		f = (struct failure){ STAGE_CWD, errno };
	} else {
		execve(s->argv[0], (char *const *)(uintptr_t)s->argv, s->envp);
		f = (struct failure){ STAGE_EXEC, errno };
	}
	(void)!write(REPORT, &f, sizeof(f));
	_exit(127);
}

/*
 * The wrapper does this after exec: before exec the child is not dumpable and
 * may not write its own /proc files.  Processes that the program starts before
 * this write have the wrapper's score.
 */
static void
raise_oom_score(pid_t pid)
{
	char path[sizeof("/proc//oom_score_adj") + 12];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", (int)pid);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	(void)!write(fd, "500", 3);
	close(fd);
}

static int
explain_failure(const struct spawn *s, const struct failure *f, struct err *e)
{
	if (f->stage == STAGE_CWD)
		return err_set(e, ERR_INVALID, CODE_BAD_CWD,
		    "Failed to change directory to %s", s->cwd);
	errno = f->error;
	if (f->stage == STAGE_JOIN)
		return err_errno(e, "cannot join the group of the run");
	err_errno(e, "cannot run %s", s->argv[0]);
	e->code = CODE_COMMAND_EXECUTION_ERROR;
	return -1;
}

int
spawn_start(const struct spawn *s, struct child *c, struct err *e)
{
	auto_fd int report = -1;
	auto_fd int report_out = -1;
	struct failure f;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(e, "pipe");
	report = ends[0];
	report_out = ends[1];
	c->pid = fork();
	if (c->pid == 0)
		exec_program(s, report_out);
	if (c->pid < 0) {
		err_errno(e, "cannot start a process");
		e->code = CODE_COMMAND_EXECUTION_ERROR;
		return -1;
	}
	close(take_fd(&report_out));
	c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	if (read(report, &f, sizeof(f)) == (ssize_t)sizeof(f)) {
		spawn_wait(c);
		return explain_failure(s, &f, e);
	}
	if (c->pidfd < 0) {
		err_errno(e, "pidfd_open");
		kill(c->pid, SIGKILL);
		spawn_wait(c);
		return -1;
	}
	raise_oom_score(c->pid);
	return 0;
}

int
spawn_text(const char *text, size_t len, struct err *e)
{
	auto_fd int fd = memfd_create("script", MFD_CLOEXEC);

	if (fd < 0)
		return err_errno(e, "memfd_create");
	for (size_t done = 0; done < len;) {
		ssize_t n = write(fd, text + done, len - done);

		if (n <= 0)
			return err_errno(e, "script");
		done += (size_t)n;
	}
	if (lseek(fd, 0, SEEK_SET) < 0)
		return err_errno(e, "script");
	return take_fd(&fd);
}

int
spawn_wait(struct child *c)
{
	struct rusage ignored;

	return spawn_wait_usage(c, &ignored);
}

int
spawn_wait_usage(struct child *c, struct rusage *r)
{
	int status = 0;
	pid_t got;

	*r = (struct rusage){ 0 };
	do {
		got = wait4(c->pid, &status, 0, r);
	} while (got < 0 && errno == EINTR);
	if (c->pidfd >= 0)
		close(take_fd(&c->pidfd));
	c->pid = -1;
	if (got < 0)
		return 255;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void
spawn_describe(int status, char out[SPAWN_HOW_MAX])
{
	int sig = status - 128;
	const char *name = sig > 0 ? sigdescr_np(sig) : NULL;

	if (name != NULL)
		snprintf(out, SPAWN_HOW_MAX, "exit code %d (signal %d, %s)",
		    status, sig, name);
	else
		snprintf(out, SPAWN_HOW_MAX, "exit code %d", status);
}
