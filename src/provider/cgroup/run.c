/* run.c: the cgroups of one limited run in a cell. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"
#include "provider/cgroup/cgroup.h"

enum { MIB = 1024 * 1024 };

/* A hierarchy that can only freeze does not need a group of its own. */
static bool
is_of_use(const struct cgroup_hierarchy *h)
{
	return h->controllers != 1U << CGROUP_FREEZER;
}

static void
open_meters(const struct cgroup_tree *t, const struct cgroup_hierarchy *h,
    const char *dir, struct run_group *out)
{
	for (size_t i = 0; i < t->ops->meter_count; i++) {
		const struct cgroup_meter *m = &t->ops->meters[i];
		auto_free char *path = xasprintf("%s/%s", dir, m->file);
		auto_fd int fd = -1;

		if ((h->controllers & 1U << m->controller) == 0 ||
		    out->meter_count == PROVIDER_METERS_MAX)
			continue;
		fd = open(path, (m->written ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
		if (fd >= 0)
			out->meter[out->meter_count++] =
			    (struct run_meter){ .what = m->what,
				    .key = m->key,
				    .part = m->part,
				    .fd = take_fd(&fd) };
	}
}

static int
open_run_in(const struct cgroup_tree *t, const struct cgroup_hierarchy *h,
    const char *cell, const char *dir, const struct cgroup_limits *l,
    struct run_group *out, struct err *e)
{
	auto_free char *join = xasprintf("%s/%s", dir, t->ops->join);
	int fd;

	if (t->ops->split(cell, h->controllers, e) < 0 ||
	    cgroup_group_make(t, h, dir, l, e) < 0)
		return cgroup_explain_missing(cell, errno, e);
	fd = open(join, O_WRONLY | O_CLOEXEC);
	if (fd < 0) {
		err_errno(e, "%s", join);
		return cgroup_explain_missing(cell, errno, e);
	}
	out->join[out->join_count++] = fd;
	open_meters(t, h, dir, out);
	return 0;
}

int
cgroup_run_open(const struct cgroup_tree *t, const char *name,
    const struct run_spec *r, struct run_group *out, struct err *e)
{
	struct cgroup_limits l = { .number = {
				       [CGROUP_MEMORY] = r->memory_mb * MIB,
				       [CGROUP_PIDS] = r->pids,
				   } };

	*out = (struct run_group){ 0 };
	for (size_t i = 0; i < t->count; i++) {
		auto_free char *cell =
		    xasprintf("%s/box/%s/s-%s", t->at[i].dir, name, r->session);
		auto_free char *dir =
		    xasprintf("%s/" CGROUP_RUN_PREFIX "%s", cell, r->run);

		if (!is_of_use(&t->at[i]))
			continue;
		if (open_run_in(t, &t->at[i], cell, dir, &l, out, e) < 0) {
			run_group_close(out);
			return err_wrap(e, "cgroup");
		}
	}
	out->limits_memory = cgroup_holds(t, CGROUP_MEMORY);
	out->limits_pids = cgroup_holds(t, CGROUP_PIDS);
	return 0;
}

int
cgroup_run_remove(const struct cgroup_tree *t, const char *name,
    const struct run_spec *r, int64_t deadline_ms, struct err *e)
{
	for (size_t i = 0; i < t->count; i++) {
		auto_free char *dir =
		    xasprintf("%s/box/%s/s-%s/" CGROUP_RUN_PREFIX "%s",
			t->at[i].dir, name, r->session, r->run);

		if (is_of_use(&t->at[i]) &&
		    cgroup_dir_remove(dir, deadline_ms, e) < 0)
			return -1;
	}
	return 0;
}
