/* job.c: the cgroups of jobs, which run on the host outside any sandbox. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/mem.h"
#include "provider/cgroup/cgroup.h"
#include "provider/host/file.h"

enum { JOB_PIDS = 64 };

static char *
job_path(const struct cgroup_hierarchy *h, const char *name)
{
	return xasprintf("%s/job/%s", h->dir, name);
}

/*
 * Removes the last job's group and makes a new one: dead processes of that job
 * count against the old group's limits until pid 1, their parent, has reaped
 * them.
 */
int
cgroup_job_make(const struct cgroup_tree *t, const char *name, struct err *e)
{
	static const struct cgroup_limits NONE = { 0 };
	static const struct cgroup_limits LIMITS = {
		.number = { [CGROUP_MEMORY] = CGROUP_JOB_BYTES,
		    [CGROUP_PIDS] = JOB_PIDS }
	};

	cgroup_job_remove(t, name);
	for (size_t i = 0; i < t->count; i++) {
		const struct cgroup_hierarchy *h = &t->at[i];
		auto_free char *all = xasprintf("%s/job", h->dir);
		auto_free char *job = job_path(h, name);

		if (t->ops->prepare(h->dir, h->controllers, e) < 0 ||
		    cgroup_group_make(t, h, all, &NONE, e) < 0 ||
		    t->ops->prepare(all, h->controllers, e) < 0 ||
		    cgroup_group_make(t, h, job, &LIMITS, e) < 0)
			return err_wrap(e, "cgroup");
	}
	return 0;
}

int
cgroup_job_enter(const struct cgroup_tree *t, const char *name, struct err *e)
{
	for (size_t i = 0; i < t->count; i++) {
		auto_free char *job = job_path(&t->at[i], name);
		auto_free char *join = xasprintf("%s/%s", job, t->ops->join);

		if (file_put(join, "0", e) < 0)
			return -1;
	}
	return 0;
}

void
cgroup_job_remove(const struct cgroup_tree *t, const char *name)
{
	for (size_t i = 0; i < t->count; i++) {
		auto_free char *job = job_path(&t->at[i], name);

		(void)!rmdir(job); /* fails while a process is in the group */
	}
}

int
cgroup_job_names(const struct cgroup_tree *t, char ***out, struct err *e)
{
	auto_free char *all = NULL;

	if (t->count == 0) {
		*out = xcalloc(1, sizeof(**out));
		return 0;
	}
	all = xasprintf("%s/job", t->at[0].dir);
	return file_names(AT_FDCWD, all, out, e);
}
