/* start.c: starts bwrap, or sandlease-launch, with a given command line. */
#include "provider/local/start.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fault.h"
#include "common/mem.h"
#include "common/str.h"
#include "provider/host/spawn.h"

enum { STATUS_FD = START_GO_FD + 1, INFO_MAX = 4096 };

_Static_assert((int)STATUS_FD < (int)SPAWN_FDS_MAX,
    "bwrap and its start have all their descriptors");

/* Puts the texts of BWRAP_FILES into memory files, from which bwrap reads. */
static int
open_files(int *sources, struct err *e)
{
	for (int fd = 0; fd < BWRAP_FD__END; fd++) {
		const char *text = BWRAP_FILES[fd];

		if (text == NULL)
			continue;
		sources[fd] = memfd_create("sandlease", MFD_CLOEXEC);
		if (sources[fd] < 0 ||
		    write(sources[fd], text, strlen(text)) < 0 ||
		    lseek(sources[fd], 0, SEEK_SET) < 0)
			return err_errno(e, "memfd");
	}
	return 0;
}

/*
 * Records this process, which becomes bwrap: the worker may die before it knows
 * init's pid.
 */
static int
note_bwrap(const struct bwrap_start *s, struct err *e)
{
	struct box_proc pr = { 0 };

	str_copy(pr.boot_id, sizeof(pr.boot_id), s->p->boot_id);
	if (proc_find(getpid(), &pr.bwrap, e) < 0)
		return -1;
	return box_set_proc(s->box, &pr, e);
}

/*
 * Does all that is to be done between fork and exec.  Returns only on failure;
 * *status is then the descriptor for the error message.
 */
static int
become_bwrap(const struct bwrap_start *s, int *sources, int *status,
    struct err *e)
{
	struct rlimit no_core = { 0, 0 };

	spawn_reset_signals();
	setsid();
	umask(022);
	setrlimit(RLIMIT_CORE, &no_core);
	/* before the exec: local_runs() must find every process of bwrap */
	if (cgroup_enter(s->cgroups, s->box->name, e) < 0 ||
	    note_bwrap(s, e) < 0 || open_files(sources, e) < 0)
		return -1;
	if (chdir("/") < 0)
		return err_errno(e, "chdir");
	if (spawn_place_fds(sources, STATUS_FD + 1) < 0)
		return err_errno(e, "descriptors");
	*status = STATUS_FD;
	fcntl(STATUS_FD, F_SETFD, FD_CLOEXEC);
	if (!s->own)
		close(START_GO_FD); /* bwrap would pass it on to init */
	execve(s->argv[0], s->argv, SPAWN_ENVIRONMENT);
	return err_errno(e, "exec %s", s->argv[0]);
}

/* The argument of spawn_orphan(). */
struct orphan {
	const struct bwrap_start *start;
	int *sources;
};

static void
exec_orphan(void *arg)
{
	const struct orphan *o = arg;
	struct err e = { 0 };
	int status = o->sources[STATUS_FD];

	become_bwrap(o->start, o->sources, &status, &e);
	(void)!write(status, e.msg, strlen(e.msg));
	_exit(127);
}

/* Reads a pipe until end of file, at most `size` - 1 bytes. */
static int
read_to_end(int fd, int64_t deadline_ms, char *out, size_t size, struct err *e)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	size_t len = 0;

	out[0] = '\0';
	while (len + 1 < size) {
		ssize_t n = poll(&p, 1, clock_left_ms(deadline_ms));

		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			return err_set(e, ERR_UNAVAILABLE, CODE_TIMED_OUT,
			    "the sandbox did not start in time");
		n = read(fd, out + len, size - 1 - len);
		if (n < 0)
			return err_errno(e, "read");
		if (n == 0)
			break;
		len += (size_t)n;
		out[len] = '\0';
	}
	return 0;
}

/*
 * Reads init's pid and records it.  bwrap, or sandlease-launch, writes {"child-pid": n, ...} after
 * its clone(); if it dies first there is only end of file.
 */
static int
read_init_pid(const struct bwrap_start *s, int info, int64_t deadline_ms,
    struct err *e)
{
	char text[INFO_MAX];
	auto_json json_t *v = NULL;
	struct box_proc pr;
	int64_t pid;

	if (read_to_end(info, deadline_ms, text, sizeof(text), e) < 0)
		return -1;
	if (json_parse(text, strlen(text), &v, e) < 0)
		return err_set(e, ERR_UNAVAILABLE, CODE_START_FAILED,
		    "bwrap ended before it had started the sandbox");
	pid = json_integer_value(json_object_get(v, "child-pid"));
	if (box_proc(s->box, &pr, e) < 0 || proc_find(pid, &pr.init, e) < 0)
		return -1;
	if (pr.init.pid == 0)
		return err_set(e, ERR_UNAVAILABLE, CODE_START_FAILED,
		    "the sandbox's init died right after its start");
	return box_set_proc(s->box, &pr, e);
}

struct pipe_pair {
	int r, w;
};

static void
close_pair(struct pipe_pair *p)
{
	mem_close_fd(&p->r);
	mem_close_fd(&p->w);
}

#define auto_pair __attribute__((cleanup(close_pair)))

static int
make_pair(struct pipe_pair *p, struct err *e)
{
	int fd[2];

	if (pipe2(fd, O_CLOEXEC) < 0)
		return err_errno(e, "pipe");
	*p = (struct pipe_pair){ .r = fd[0], .w = fd[1] };
	return 0;
}

/*
 * Opens the writing end for reading, too, so that the pipe always has a reader.
 * Otherwise bwrap would die of SIGPIPE when the worker has died or given up,
 * and bwrap's child, which waits for bwrap, would hold the sandbox's socket and
 * lock for ever.
 */
static int
keep_reader(struct pipe_pair *p, struct err *e)
{
	auto_free char *path = xasprintf("/proc/self/fd/%d", p->w);
	int both = open(path, O_RDWR | O_CLOEXEC);

	if (both < 0)
		return err_errno(e, "%s", path);
	mem_close_fd(&p->w);
	p->w = both;
	return 0;
}

int
start_bwrap(const struct bwrap_start *s, int64_t deadline_ms, struct err *e)
{
	auto_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	auto_pair struct pipe_pair info = { -1, -1 }, status = { -1, -1 },
				   go = { -1, -1 };
	int sources[STATUS_FD + 1] = { null, null, s->log, s->control, s->lock,
		s->root >= 0 ? s->root : null };
	char failure[ERR_MSG_MAX];

	_Static_assert(BWRAP_FD_CONTROL == 3 && BWRAP_FD_LOCK == 4 &&
		BWRAP_FD_ROOT == 5,
	    "sources[] begins in this order");
	if (null < 0)
		return err_errno(e, "/dev/null");
	if (make_pair(&info, e) < 0 || keep_reader(&info, e) < 0 ||
	    make_pair(&status, e) < 0 || make_pair(&go, e) < 0)
		return -1;
	sources[BWRAP_FD_INFO] = info.w;
	sources[START_GO_FD] = go.r;
	sources[STATUS_FD] = status.w;
	if (spawn_orphan(exec_orphan, &(struct orphan){ s, sources }, e) < 0)
		return -1;
	CRASH_POINT("ensure.forked");
	mem_close_fd(&info.w);
	mem_close_fd(&status.w);
	if (read_to_end(status.r, deadline_ms, failure, sizeof(failure), e) < 0)
		return -1;
	if (failure[0] != '\0')
		return err_set(e, ERR_UNAVAILABLE, CODE_START_FAILED,
		    "the sandbox could not be started: %s", failure);
	if (read_init_pid(s, info.r, deadline_ms, e) < 0)
		return -1;
	CRASH_POINT("ensure.noted");
	/* go.r is open here, too: this cannot fail, nor raise SIGPIPE */
	if (write(go.w, "g", 1) != 1)
		return err_errno(e, "write");
	return 0;
}

static void
exec_trial(char *const *argv, int log)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const int sources[] = { null, null, log };

	spawn_reset_signals();
	if (null >= 0 && spawn_place_fds(sources, (int)ARRAY_LEN(sources)) == 0)
		execve(argv[0], argv, SPAWN_ENVIRONMENT);
	_exit(127);
}

bool
start_try(char *const *argv, int64_t deadline_ms, char *line, size_t size)
{
	auto_pair struct pipe_pair log = { -1, -1 };
	struct err ignored;
	int status = -1;
	pid_t pid;

	line[0] = '\0';
	if (make_pair(&log, &ignored) < 0)
		return false;
	pid = fork();
	if (pid == 0)
		exec_trial(argv, log.w);
	mem_close_fd(&log.w);
	if (pid < 0)
		return false;
	if (read_to_end(log.r, deadline_ms, line, size, &ignored) < 0)
		kill(pid, SIGKILL);
	line[strcspn(line, "\n")] = '\0';
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
