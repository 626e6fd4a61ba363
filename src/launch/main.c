/* main.c: starts a sandbox and ends. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/launch.h"

static const char USAGE[] =
    "usage: sandlease-launch --go-fd N [--else PATH] OPTION... -- PROGRAM ...\n"
    "       sandlease-launch --version\n"
    "Started by Sandlease, with options of bwrap, to make a sandbox.\n";

/* The first process of the new namespaces; it becomes the program. */
static _Noreturn void
become_program(const struct plan *p, uid_t uid, gid_t gid)
{
	int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (proc < 0)
		die_errno("/proc");
	close(p->info_fd);
	close(p->go_fd);
	user_become_root(proc, uid, gid);
	umask(0);
	mounts_begin();
	for (size_t i = 0; i < p->op_count; i++)
		p->ops[i].run(&p->ops[i]);
	mounts_enter();
	if (sethostname(p->hostname, strlen(p->hostname)) < 0)
		die_errno("cannot set the host name");
	user_enter(proc, p);
	user_keep_caps(p);
	umask(022);
	if (chdir(p->chdir) < 0)
		die_errno("cannot enter %s", p->chdir);
	if (setsid() < 0)
		die_errno("cannot make a session");
	execve(p->command[0], p->command, p->envp);
	die_errno("cannot start %s", p->command[0]);
}

/*
 * Reports the program's pid, and waits until it is recorded.  If the worker that
 * should record it has died, stays until the program ends: then it is found as
 * the child of this process, which was recorded before.  Keeps open nothing that
 * the program has, such as the sandbox's lock.
 */
static void
report_pid(const struct plan *p, pid_t pid)
{
	char byte;
	ssize_t n;

	dprintf(p->info_fd, "{\"child-pid\": %d}\n", (int)pid);
	if (dup2(p->go_fd, STDIN_FILENO) < 0)
		die_errno("--go-fd");
	syscall(SYS_close_range, STDIN_FILENO + 1, ~0U, 0);
	while ((n = read(STDIN_FILENO, &byte, 1)) < 0 && errno == EINTR)
		;
	while (n != 1 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* Takes our own options, which come before those of bwrap. */
static char **
take_own_options(struct plan *p, char **argv)
{
	char *other = NULL;

	p->go_fd = -1;
	for (; argv[0] != NULL && argv[1] != NULL; argv += 2)
		if (strcmp(argv[0], "--else") == 0)
			other = argv[1];
		else if (strcmp(argv[0], "--go-fd") == 0)
			p->go_fd =
			    (int)plan_number("--go-fd", argv[1], FDS_MAX);
		else
			break;
	if (p->go_fd < 0)
		die("--go-fd is missing");
	if (mounts_work())
		return argv;
	if (other == NULL)
		die("this kernel lacks mount_setattr or open_tree");
	close(p->go_fd);
	argv[-1] = other;
	execv(other, argv - 1);
	die_errno("cannot start %s", other);
}

int
main(int argc, char **argv)
{
	static struct plan plan;
	uid_t uid = getuid();
	gid_t gid = getgid();
	pid_t pid;

	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		puts("sandlease-launch " PACKAGE_VERSION);
		return 0;
	}
	if (argc < 3) {
		fputs(USAGE, stderr);
		return 2;
	}
	/* no program that runs from here on can gain rights by exec */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		die_errno("no_new_privs");
	plan_parse(&plan, take_own_options(&plan, argv + 1));
	/* no CLONE_NEWNET: user_enter() makes that namespace */
	pid = (pid_t)syscall(SYS_clone,
	    CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC |
		CLONE_NEWUTS | CLONE_NEWCGROUP | SIGCHLD,
	    0, 0, 0, 0);
	if (pid < 0)
		die_errno("cannot make namespaces (are unprivileged user "
			  "namespaces allowed?)");
	if (pid == 0)
		become_program(&plan, uid, gid);
	report_pid(&plan, pid);
	return 0;
}
