/* cgroup_view.c: mounts a cell's own cgroup, read-only, at /sys/fs/cgroup. */
#include "agent/cell/cgroup_view.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/str.h"

/* How to mount a version of cgroups. */
struct cgroup_version {
	unsigned long magic; /* of its file system */
	const char *type, *options;
	const char *where;
	const char *limit; /* file with the memory limit in bytes */
};

static const struct cgroup_version VERSIONS[] = {
	{ CGROUP2_SUPER_MAGIC, "cgroup2", NULL, "/sys/fs/cgroup",
	    "/sys/fs/cgroup/memory.max" },
	{ CGROUP_SUPER_MAGIC, "cgroup", "memory", "/sys/fs/cgroup/memory",
	    "/sys/fs/cgroup/memory/memory.limit_in_bytes" },
};

static const struct cgroup_version *
version_of(int group)
{
	struct statfs s;

	for (size_t i = 0; i < ARRAY_LEN(VERSIONS); i++)
		if (fstatfs(group, &s) == 0 &&
		    (unsigned long)s.f_type == VERSIONS[i].magic)
			return &VERSIONS[i];
	return NULL;
}

static bool
has_limit(const char *path, int64_t bytes)
{
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[32] = "";
	int64_t n;

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return false;
	text[strcspn(text, "\n")] = '\0';
	return str_to_int(text, 1, INT64_MAX, &n) && n == bytes;
}

void
cgroup_view_mount(const struct launch *l, const int *groups, size_t count)
{
	const struct cgroup_version *v =
	    count > 0 ? version_of(groups[0]) : NULL;

	/* in the new namespace, this process's group is the mount's root */
	if (v == NULL || l->shown_memory_mb == 0 ||
	    unshare(CLONE_NEWCGROUP) < 0 ||
	    mount("cgroup", v->where, v->type,
		MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, v->options) < 0)
		return;
	if (!has_limit(v->limit, l->shown_memory_mb << 20))
		(void)umount2(v->where, MNT_DETACH);
}
