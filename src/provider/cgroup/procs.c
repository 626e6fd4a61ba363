/* procs.c: counts, freezes and kills the processes in a sandbox's cgroups. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/str.h"
#include "provider/cgroup/cgroup.h"
#include "provider/host/file.h"
#include "provider/host/proc.h"

enum { PROCS_MAX = 4 * 1024 * 1024, GROUPS_MAX = 64 * 1024 };

typedef int visit_fn(int64_t pid, const char *name, struct cgroup_procs *sum,
    struct err *e);

static int
count_one(int64_t pid, const char *name, struct cgroup_procs *sum,
    struct err *e)
{
	struct proc_use u;
	bool found;

	(void)name;
	if (proc_use(pid, &u, &found, e) < 0)
		return -1;
	if (!found)
		return 0;
	sum->count++;
	sum->threads += u.threads;
	sum->user_us += u.user_us;
	sum->sys_us += u.sys_us;
	return 0;
}

/* Whether the process that has this pid now is in the sandbox `name`. */
static int
is_inside(int64_t pid, const char *name, bool *out, struct err *e)
{
	auto_free char *path = xasprintf("/proc/%" PRId64 "/cgroup", pid);
	auto_free char *part = xasprintf("/box/%s", name);
	auto_buf struct buf text = { 0 };
	const char *at;

	if (file_read(AT_FDCWD, path, GROUPS_MAX, out, &text, e) < 0) {
		*out = false;
		return errno == ESRCH ? 0 : -1;
	}
	at = *out ? strstr(text.data, part) : NULL;
	/* names have the same length: none is a prefix of another */
	*out = at != NULL && strchr("/\n", at[strlen(part)]) != NULL;
	return 0;
}

static int
kill_one(int64_t pid, const char *name, struct cgroup_procs *sum, struct err *e)
{
	auto_fd int fd = -1;
	bool inside;

	if (is_inside(pid, name, &inside, e) < 0)
		return -1;
	if (!inside)
		return 0;
	fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
	if (fd < 0)
		return errno == ESRCH ? 0 : err_errno(e, "pidfd_open");
	/* check again: before the open another process may have got the pid */
	if (is_inside(pid, name, &inside, e) < 0)
		return -1;
	if (inside &&
	    syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) < 0 &&
	    errno != ESRCH)
		return err_errno(e, "kill %" PRId64, pid);
	sum->count++;
	return 0;
}

static int
visit_group(const char *dir, const char *name, visit_fn *visit,
    struct cgroup_procs *sum, struct err *e)
{
	auto_free char *path = xasprintf("%s/cgroup.procs", dir);
	auto_buf struct buf text = { 0 };
	char *rest;
	bool found;

	if (file_read(AT_FDCWD, path, PROCS_MAX, &found, &text, e) < 0)
		return -1;
	rest = found ? text.data : NULL;
	for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
		int64_t pid;

		/* 0 is a process of another pid namespace: not ours */
		if (!str_to_int(line, 1, INT32_MAX, &pid))
			continue;
		if (visit(pid, name, sum, e) < 0)
			return -1;
	}
	return 0;
}

/* The group and all below it. */
static int
visit_groups(const char *dir, const char *name, visit_fn *visit,
    struct cgroup_procs *sum, struct err *e)
{
	auto_names char **names = NULL;

	if (file_names(AT_FDCWD, dir, &names, e) < 0)
		return -1;
	for (char **n = names; *n != NULL; n++) {
		auto_free char *below = xasprintf("%s/%s", dir, *n);

		if (cgroup_is_ours(*n) &&
		    visit_groups(below, name, visit, sum, e) < 0)
			return -1;
	}
	return visit_group(dir, name, visit, sum, e);
}

int
cgroup_procs(const struct cgroup_tree *t, const char *name, const char *session,
    struct cgroup_procs *out, struct err *e)
{
	auto_free char *box = NULL, *cell = NULL;

	*out = (struct cgroup_procs){ 0 };
	if (t->count == 0)
		return 0;
	box = xasprintf("%s/box/%s", t->at[0].dir, name);
	if (session == NULL)
		return visit_groups(box, name, count_one, out, e);
	cell = xasprintf("%s/s-%s", box, session);
	return visit_groups(cell, name, count_one, out, e);
}

int
cgroup_count(const struct cgroup_tree *t, const char *name, const char *session,
    size_t *count, struct err *e)
{
	struct cgroup_procs procs;

	*count = 0;
	if (cgroup_procs(t, name, session, &procs, e) < 0)
		return -1;
	*count = procs.count;
	return 0;
}

static int
freeze_box(const struct cgroup_tree *t, const char *name, bool on,
    struct err *e)
{
	for (size_t i = 0; i < t->count; i++) {
		auto_free char *box =
		    xasprintf("%s/box/%s", t->at[i].dir, name);

		if (t->ops->freeze(box, on, e) < 0)
			return -1;
	}
	return 0;
}

int
cgroup_cell_freeze(const struct cgroup_tree *t, const char *name,
    const char *session, bool on, bool *done, struct err *e)
{
	*done = false;
	for (size_t i = 0; i < t->count; i++) {
		auto_free char *cell =
		    xasprintf("%s/box/%s/s-%s", t->at[i].dir, name, session);

		/* in v1 the freezer is in a hierarchy of its own */
		if ((t->at[i].controllers & (1U << CGROUP_FREEZER)) == 0)
			continue;
		*done = true;
		if (t->ops->freeze(cell, on, e) < 0)
			return -1;
	}
	return 0;
}

/* Thaws the sandbox and each cell: not every frozen process can be killed. */
static int
thaw_box(const struct cgroup_tree *t, const char *name, struct err *e)
{
	if (freeze_box(t, name, false, e) < 0)
		return -1;
	return cgroup_thaw_cells(t, name, e);
}

int
cgroup_kill(const struct cgroup_tree *t, const char *name, struct err *e)
{
	auto_free char *box = NULL;
	struct cgroup_procs killed = { 0 };
	struct err ignored; /* without the freeze more rounds may be needed */
	int rc;

	if (t->count == 0)
		return 0;
	box = xasprintf("%s/box/%s", t->at[0].dir, name);
	if (t->ops->kill(box))
		return thaw_box(t, name, e);
	/* freeze: a fork bomb must not be faster than the list of pids */
	(void)freeze_box(t, name, true, &ignored);
	rc = visit_groups(box, name, kill_one, &killed, e);
	if (thaw_box(t, name, rc < 0 ? &ignored : e) < 0)
		return -1;
	return rc;
}
