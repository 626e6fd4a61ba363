/* limit.c: changes the limits of a cell that runs. */
#include "agent/init/limit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/capability.h"
#include "agent/cell/launch.h"
#include "common/mem.h"

enum { TEXT_MAX = 48 };

/* The root of the cell's first process, which is not dumpable. */
static int
open_root(const struct cell *c, struct err *e)
{
	char path[TEXT_MAX];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/root", (int)c->pid);
	if (capability_use(CAP_SYS_PTRACE, true) < 0)
		return err_errno(e, "CAP_SYS_PTRACE");
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		err_errno(e, "%s", path);
	(void)!capability_use(CAP_SYS_PTRACE, false);
	return fd;
}

/* -1 and errno if the kernel refuses it. */
static int
resize(int root, const char *size)
{
	/* /tmp is a mount: no process of the cell can put a link in its place */
	auto_fd int fs = fspick(root, "tmp",
	    FSPICK_CLOEXEC | FSPICK_SYMLINK_NOFOLLOW | FSPICK_NO_AUTOMOUNT);

	if (fs < 0 || fsconfig(fs, FSCONFIG_SET_STRING, "size", size, 0) < 0)
		return -1;
	return fsconfig(fs, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0);
}

/*
 * The same by a child.  bwrap makes init's mounts belong to another user
 * namespace than init's; the child has mounts of its own, and so it may.
 */
static int
resize_by_child(int root, const char *size)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(unshare(CLONE_NEWNS) == 0 && resize(root, size) == 0
			? 0
			: errno);
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return -1;
	errno = WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
	return errno == 0 ? 0 : -1;
}

static int
resize_tmp(const struct cell *c, int64_t mb, struct err *e)
{
	auto_fd int root = open_root(c, e);
	char size[TEXT_MAX];

	if (root < 0)
		return -1;
	snprintf(size, sizeof(size), "%" PRId64 "m", mb);
	if (resize(root, size) < 0 &&
	    (errno != EPERM || resize_by_child(root, size) < 0))
		return err_errno(e, "the size of /tmp");
	return 0;
}

int
limit_cell(struct cell *c, const json_t *msg, struct err *e)
{
	struct launch l = { .pids = 0 };

	if (launch_decode_limits(msg, &l, e) < 0 ||
	    (l.tmp_mb > 0 && resize_tmp(c, l.tmp_mb, e) < 0))
		return -1;
	c->memory_mb = l.memory_mb;
	c->disk_mb = l.file_mb;
	return 0;
}
