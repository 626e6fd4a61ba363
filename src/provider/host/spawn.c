/* spawn.c: starts programs that outlive the worker which starts them. */
#include "provider/host/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/mem.h"

enum {
	HIGH_FD = 64,
	FIRST_STACK = 16 * 1024,
	SECOND_STACK = 128 * 1024, /* paths, and what a sanitizer adds */
	ALONE_NICE = 5, /* clients that wait for a session have priority */
	ALONE_FILES = 256
};

char *const SPAWN_ENVIRONMENT[] = { (char[]){ "PATH=/usr/bin:/bin" },
	(char[]){ "LANG=C.UTF-8" }, NULL };

/* A worker ignores SIGPIPE, and the program would inherit that by exec. */
void
spawn_reset_signals(void)
{
	sigset_t none;

	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/*
 * First copies the sources to high numbers: a source may have the number that
 * another one shall get (a worker's fd 0 is the API's listening socket).
 */
int
spawn_place_fds(const int *sources, int count)
{
	int high[SPAWN_FDS_MAX];

	for (int i = 0; i < count; i++) {
		high[i] = fcntl(sources[i], F_DUPFD_CLOEXEC, HIGH_FD);
		if (high[i] < 0)
			return -1;
	}
	for (int i = 0; i < count; i++)
		if (dup2(high[i], i) < 0)
			return -1;
	return (int)syscall(SYS_close_range, count, ~0U, 0);
}

/* A child that never returns would leave marks of a sanitizer in our memory. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { CHILD = CLONE_VFORK | SIGCHLD };
#else
enum { CHILD = CLONE_VM | CLONE_VFORK | SIGCHLD };
#endif

struct orphan {
	void (*become)(void *arg);
	void *arg;
	int error; /* errno, if the second child could not be made */
	_Alignas(16) char first_stack[FIRST_STACK];
	_Alignas(16) char second_stack[SECOND_STACK];
};

static int
run_second(void *arg)
{
	struct orphan *o = arg;

	o->become(o->arg);
	return 127;
}

static int
run_first(void *arg)
{
	struct orphan *o = arg;

	if (clone(run_second, o->second_stack + sizeof(o->second_stack), CHILD,
		o) < 0)
		o->error = errno;
	return 0;
}

/*
 * Makes two children: the first ends at once, so pid 1 becomes the parent of the
 * second and reaps it.  Like a child of vfork() both run in the worker's memory,
 * which is not copied, and the worker waits until become() has ended in an exec;
 * but each has a stack of its own, as vfork() may not be called by its own child.
 * Signals wait as long, because a handler that ran in a child would change the
 * worker's memory.
 */
int
spawn_orphan(void (*become)(void *arg), void *arg, struct err *e)
{
	struct orphan o;
	sigset_t all, before;
	int status;
	pid_t pid;

	o.become = become;
	o.arg = arg;
	o.error = 0;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid =
	    clone(run_first, o.first_stack + sizeof(o.first_stack), CHILD, &o);
	if (pid < 0)
		o.error = errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	errno = o.error;
	return o.error == 0 ? 0 : err_errno(e, "clone");
}

/*
 * The limits of a sandbox's class do not hold such a program, and its input may
 * come from a tenant.  The program remembers directories and files with several
 * names: a hundred thousand of them fit well into these limits.
 */
static void
limit_alone(const struct spawn *s)
{
	const struct {
		__rlimit_resource_t what;
		rlim_t most;
	} LIMITS[] = {
		{ RLIMIT_CORE, 0 },
		{ RLIMIT_NOFILE, ALONE_FILES },
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
		{ RLIMIT_AS, (rlim_t)s->memory_bytes },
#endif
	};

	(void)s; /* not used in a build with sanitizers */
	for (size_t i = 0; i < ARRAY_LEN(LIMITS); i++)
		setrlimit(LIMITS[i].what,
		    &(struct rlimit){ LIMITS[i].most, LIMITS[i].most });
}

static void
become_alone(void *arg)
{
	const struct spawn *s = arg;
	struct err ignored;

	spawn_reset_signals();
	setsid();
	setpriority(PRIO_PROCESS, 0, ALONE_NICE);
	if (s->enter(s->arg, &ignored) < 0)
		_exit(127);
	limit_alone(s);
	if (chdir("/") == 0 && spawn_place_fds(s->fds, s->fd_count) == 0)
		execve(s->argv[0], s->argv, SPAWN_ENVIRONMENT);
	_exit(127);
}

int
spawn_alone(const struct spawn *s, struct err *e)
{
	struct spawn copy = *s;

	return spawn_orphan(become_alone, &copy, e);
}
