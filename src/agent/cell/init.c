/* init.c: runs the first process of a cell. */
#include "agent/cell/init.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ENV_MAX = 96 };

static _Noreturn void
exec_wrapper(const struct launch *l, const char *agent)
{
	char session[ENV_MAX], instance[ENV_MAX], generation[ENV_MAX];
	char level[ENV_MAX], format[ENV_MAX];
	char wrapper[] = "wrapper", name[] = "sandlease-agent";
	char path[] = "PATH=/usr/local/bin:/usr/bin:/bin";
	char home[] = "HOME=/home/user", lang[] = "LANG=C.UTF-8";
	char *argv[] = { name, wrapper, NULL };
	char *envp[] = { session, instance, generation, level, format, path,
		home, lang, NULL };
	sigset_t none;

	snprintf(session, ENV_MAX, "SANDLEASE_SESSION_ID=%s", l->session);
	snprintf(instance, ENV_MAX, "SANDLEASE_INSTANCE_ID=%s", l->instance);
	snprintf(generation, ENV_MAX, "SANDLEASE_GENERATION=%lld",
	    (long long)l->generation);
	snprintf(level, ENV_MAX, "SANDBOX_LOG_LEVEL=%s",
	    LOG_LEVEL_NAMES[l->log_level]);
	snprintf(format, ENV_MAX, "SANDBOX_LOG_FORMAT=%s",
	    LOG_FORMAT_NAMES[l->log_format]);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	(void)!chdir("/workspace");
	fcntl(WRAPPER_CHANNEL, F_SETFD, 0);
	execve(agent, argv, envp);
	_exit(127);
}

/* Waits for all dead children; true when the wrapper was among them. */
static bool
reap(pid_t wrapper, bool *empty)
{
	bool found = false;
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		found = found || pid == wrapper;
	/* orphans become children of process 1: no child, no process */
	*empty = pid < 0 && errno == ECHILD;
	return found;
}

_Noreturn void
cell_init_run(const struct launch *l, const char *agent)
{
	bool ending = false, empty = false;
	sigset_t watched;
	pid_t wrapper;

	sigemptyset(&watched);
	sigaddset(&watched, SIGCHLD);
	sigaddset(&watched, SIGTERM);
	sigaddset(&watched, CELL_SIG_STOP);
	sigaddset(&watched, CELL_SIG_GO_ON);
	sigprocmask(SIG_SETMASK, &watched, NULL);
	wrapper = fork();
	if (wrapper == 0)
		exec_wrapper(l, agent);
	close(WRAPPER_CHANNEL);
	close(WRAPPER_MEMINFO);
	while (wrapper > 0 && !empty) {
		siginfo_t info;
		int sig = sigwaitinfo(&watched, &info);

		/* si_pid 0: the sender is outside this pid namespace */
		if (sig == SIGTERM && info.si_pid == 0) {
			ending = true;
			kill(-1, SIGTERM);
			/* a stopped process does not handle SIGTERM */
			kill(-1, SIGCONT);
		}
		/* one call for all processes: none can escape by a fork */
		if (sig == CELL_SIG_STOP && info.si_pid == 0)
			kill(-1, SIGSTOP);
		if (sig == CELL_SIG_GO_ON && info.si_pid == 0)
			kill(-1, SIGCONT);
		if (reap(wrapper, &empty) && !ending)
			break;
	}
	_exit(0);
}
