/* proc.c: finds and kills processes that are not our children. */
#include "provider/host/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"
#include "provider/host/file.h"

enum {
	STAT_MAX = 1024,
	NAP_MS = 2,
	PID_DIGITS_MAX = 10,
	US_PER_SECOND = 1000 * 1000
};

struct stat_line {
	char state;
	int64_t parent;
	int64_t user, sys, waited_user, waited_sys; /* clock ticks */
	int64_t threads;
	int64_t start;
};

/*
 * Field 3 is the state, 4 the parent, 14 to 17 are processor times, 20 is the
 * number of threads, 22 the start.
 * Field 2, the program's
 * name, may contain any character: the rest begins after the last ')'.
 */
static bool
parse_stat(const char *text, struct stat_line *out)
{
	const char *at = strrchr(text, ')');

	return at != NULL &&
	    sscanf(at + 1,
		" %c %" SCNd64 " %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNd64
		" %" SCNd64 " %" SCNd64 " %" SCNd64 " %*d %*d %" SCNd64
		" %*d %" SCNd64,
		&out->state, &out->parent, &out->user, &out->sys,
		&out->waited_user, &out->waited_sys, &out->threads,
		&out->start) == 8;
}

/* *found is false if the process does not exist or is a zombie. */
static int
read_stat(int64_t pid, struct stat_line *out, bool *found, struct err *e)
{
	auto_free char *path = xasprintf("/proc/%" PRId64 "/stat", pid);
	auto_buf struct buf text = { 0 };

	if (file_read(AT_FDCWD, path, STAT_MAX, found, &text, e) < 0) {
		*found = false;
		return errno == ESRCH ? 0 : -1;
	}
	if (!*found)
		return 0;
	if (!parse_stat(text.data, out))
		return err_set(e, ERR_INTERNAL, CODE_INTERNAL,
		    "%s: cannot be understood", path);
	*found = out->state != 'Z' && out->state != 'X';
	return 0;
}

int
proc_find(int64_t pid, struct proc *out, struct err *e)
{
	struct stat_line line;
	bool found;

	*out = (struct proc){ 0 };
	if (read_stat(pid, &line, &found, e) < 0)
		return -1;
	if (found)
		*out = (struct proc){ .pid = pid, .start = line.start };
	return 0;
}

static int64_t
ticks_us(int64_t ticks)
{
	return ticks * US_PER_SECOND / sysconf(_SC_CLK_TCK);
}

int
proc_use(int64_t pid, struct proc_use *out, bool *found, struct err *e)
{
	struct stat_line line;

	*out = (struct proc_use){ 0 };
	if (read_stat(pid, &line, found, e) < 0)
		return -1;
	if (*found)
		*out = (struct proc_use){ .threads = line.threads,
			.user_us = ticks_us(line.user + line.waited_user),
			.sys_us = ticks_us(line.sys + line.waited_sys) };
	return 0;
}

int
proc_lives(const struct proc *p, bool *out, struct err *e)
{
	struct proc now;

	*out = false;
	if (p->pid <= 0)
		return 0;
	if (proc_find(p->pid, &now, e) < 0)
		return -1;
	*out = now.pid == p->pid && now.start == p->start;
	return 0;
}

int
proc_child(const struct proc *parent, struct proc *out, struct err *e)
{
	auto_names char **names = NULL;

	*out = (struct proc){ 0 };
	if (file_names(AT_FDCWD, "/proc", &names, e) < 0)
		return -1;
	for (char **n = names; *n != NULL; n++) {
		struct stat_line line;
		int64_t pid;
		bool found;

		if (!str_made_of(*n, "0123456789", 1, PID_DIGITS_MAX))
			continue;
		pid = strtoll(*n, NULL, 10);
		if (read_stat(pid, &line, &found, e) < 0)
			return -1;
		if (found && line.parent == parent->pid) {
			*out = (struct proc){ .pid = pid, .start = line.start };
			return 0;
		}
	}
	return 0;
}

int
proc_kill(const struct proc *p, struct err *e)
{
	auto_fd int fd = -1;
	bool lives;

	if (p->pid <= 0)
		return 0;
	fd = (int)syscall(SYS_pidfd_open, (pid_t)p->pid, 0);
	if (fd < 0)
		return errno == ESRCH ? 0 : err_errno(e, "pidfd_open");
	/* check after the open: the descriptor cannot change its process */
	if (proc_lives(p, &lives, e) < 0)
		return -1;
	if (lives && syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) < 0 &&
	    errno != ESRCH)
		return err_errno(e, "kill %" PRId64, p->pid);
	return 0;
}

void
proc_nap(int64_t deadline_ms)
{
	int ms = clock_left_ms(deadline_ms);
	struct timespec t = { .tv_nsec =
				  1000000L * (ms < NAP_MS ? ms : NAP_MS) };

	nanosleep(&t, NULL);
}
