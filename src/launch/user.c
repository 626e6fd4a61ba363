/* user.c: user namespaces and capabilities. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "launch/launch.h"

enum { MAP_BYTES = 64 };

static void
put_and_close(int fd, const char *path, const char *text)
{
	size_t len = strlen(text);

	if (fd < 0 || write(fd, text, len) != (ssize_t)len)
		die_errno("cannot write /proc/%s", path);
	close(fd);
}

static void
put(int proc, const char *path, const char *text)
{
	put_and_close(openat(proc, path, O_WRONLY | O_CLOEXEC), path, text);
}

/* Maps one id of the parent namespace into this one. */
static void
put_map(int proc, const char *path, unsigned inside, unsigned outside)
{
	char text[MAP_BYTES];

	snprintf(text, sizeof(text), "%u %u 1\n", inside, outside);
	put(proc, path, text);
}

void
user_become_root(int proc, uid_t uid, gid_t gid)
{
	put_map(proc, "self/uid_map", 0, uid);
	/* without it a process could drop a group that denies it something */
	put(proc, "self/setgroups", "deny\n");
	put_map(proc, "self/gid_map", 0, gid);
}

/* A new user namespace comes with a full bounding set. */
static void
drop_bounding_set(uint64_t keep)
{
	for (int cap = 0; cap <= CAP_LAST_CAP; cap++)
		/* EINVAL: this kernel does not know the last ones */
		if ((keep >> cap & 1) == 0 &&
		    prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0 && errno != EINVAL)
			die_errno("cannot drop capability %d", cap);
}

/*
 * Opens the file in the sandbox's own /proc.  In that of the host it has an entry
 * for every sandbox that lives, and the kernel looks through all of them.  -1: the
 * sandbox has none, or it is read-only.
 */
static int
open_in_sandbox(const char *path)
{
	int fd = open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct statfs fs;

	if (fd >= 0 &&
	    (fstatfs(fd, &fs) < 0 || fs.f_type != PROC_SUPER_MAGIC)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void
forbid_user_namespaces(int proc)
{
	static const char PATH[] = "/proc/sys/user/max_user_namespaces";
	const char *path = PATH + sizeof("/proc");
	int fd = open_in_sandbox(PATH);

	put_and_close(fd >= 0 ? fd : openat(proc, path, O_WRONLY | O_CLOEXEC),
	    path, "1");
}

void
user_enter(int proc, const struct plan *p)
{
	forbid_user_namespaces(proc);
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
		die_errno("cannot enter the sandbox's user namespace");
	put_map(proc, "self/uid_map", p->uid, 0);
	put_map(proc, "self/gid_map", p->gid, 0);
	if (unshare(CLONE_NEWUSER) == 0)
		die("further user namespaces could not be forbidden");
	drop_bounding_set(p->caps);
}

void
user_keep_caps(const struct plan *p)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct data[2];

	for (int i = 0; i < 2; i++) {
		uint32_t bits = (uint32_t)(p->caps >> 32 * i);

		data[i] = (struct __user_cap_data_struct){ .effective = bits,
			.permitted = bits,
			.inheritable = bits };
	}
	if (syscall(SYS_capset, &head, data) < 0)
		die_errno("cannot drop capabilities");
	for (int cap = 0; cap <= CAP_LAST_CAP; cap++)
		if ((p->caps >> cap & 1) != 0 &&
		    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0) < 0)
			die_errno("cannot keep capability %d", cap);
}
