/* local.c: the operations of the provider `local`. */
#include "provider/local/local.h"
#include "provider/box/gone.h"

#include <fcntl.h>
#include <unistd.h>

#include "common/channel.h"
#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"
#include "provider/box/gone.h"
#include "provider/cgroup/cgroup.h"
#include "provider/host/file.h"
#include "provider/host/trash.h"
#include "provider/store/copy.h"
#include "provider/store/job.h"
#include "provider/store/snapshot.h"
#include "provider/store/storage.h"

enum { CELL_REMOVE_MS = 200 };

static int
open_channel(const struct provider *p, const char *id, const char *incarnation,
    struct err *e)
{
	char name[BOX_NAME_MAX];
	auto_free char *path = NULL;

	box_name(id, name);
	path = local_control_path(p, name, incarnation);
	return channel_connect(path, e);
}

/* Makes the box first: its label says which installation owns the files. */
static int
make_storage(const struct provider *p, const char *id, const char *session,
    struct err *e)
{
	auto_box struct box b = BOX_CLOSED;

	if (box_make(p, id, &b, e) < 0)
		return -1;
	return storage_make(p, b.name, session, e);
}

static int
fill_storage(const struct provider *p, const char *id, const char *session,
    const struct snapshot_ref *from, int64_t deadline_ms, struct err *e)
{
	auto_box struct box b = BOX_CLOSED;

	if (box_make(p, id, &b, e) < 0)
		return -1;
	return storage_from(p, b.name, session, from, deadline_ms, e);
}

static int
find_storage(const struct provider *p, const char *id, const char *session,
    bool *out, struct err *e)
{
	char name[BOX_NAME_MAX];

	box_name(id, name);
	return storage_exists(p, name, session, out, e);
}

static int
drop_storage(const struct provider *p, const char *id, const char *session,
    struct err *e)
{
	char name[BOX_NAME_MAX];

	box_name(id, name);
	return storage_drop(p, name, session, e);
}

static int
cell_open(const struct provider *p, const struct sandbox_spec *s,
    const char *session, int fds[PROVIDER_CELL_FDS_MAX], size_t *count,
    struct err *e)
{
	auto_box struct box b = BOX_CLOSED;
	struct session_seen last = { 0 };
	struct cgroup_tree t;

	*count = 0;
	str_copy(last.sandbox, sizeof(last.sandbox), s->id);
	str_copy(last.session, sizeof(last.session), session);
	/* the new generation must not be frozen because the last one was */
	if (local_freeze(p, &last, false, e) < 0 ||
	    box_open(p, s->id, &b, e) < 0 || box_cgroups(p, &b, &t, e) < 0)
		return -1;
	return cgroup_cell_open(&t, b.name, session, s, fds, count, e);
}

/* Without cgroups *gone is always true: then only init knows better. */
static int
cell_gone(const struct provider *p, const char *id, const char *session,
    bool *gone, struct err *e)
{
	auto_box struct box b = BOX_CLOSED;
	struct cgroup_tree t;
	struct err ignored; /* a group that cannot be removed is still empty */
	size_t count;

	*gone = false;
	if (box_open(p, id, &b, e) < 0 || box_cgroups(p, &b, &t, e) < 0 ||
	    cgroup_count(&t, b.name, session, &count, e) < 0)
		return -1;
	if (count > 0)
		return 0;
	*gone = true;
	(void)!cgroup_remove(&t, b.name, session, clock_ms() + CELL_REMOVE_MS,
	    &ignored);
	return 0;
}

static int
run_open(const struct provider *p, const struct run_spec *r,
    struct run_group *out, struct err *e)
{
	auto_box struct box b = BOX_CLOSED;
	struct cgroup_tree t;

	*out = (struct run_group){ 0 };
	if (box_open(p, r->sandbox, &b, e) < 0 || box_cgroups(p, &b, &t, e) < 0)
		return -1;
	return cgroup_run_open(&t, b.name, r, out, e);
}

static int
run_remove(const struct provider *p, const struct run_spec *r,
    int64_t deadline_ms, struct err *e)
{
	auto_box struct box b = BOX_CLOSED;
	struct cgroup_tree t;

	if (box_open(p, r->sandbox, &b, e) < 0 || box_cgroups(p, &b, &t, e) < 0)
		return -1;
	return cgroup_run_remove(&t, b.name, r, deadline_ms, e);
}

static json_t *
limit_json(int64_t value, const char *by)
{
	return json_pack("{s:I, s:s}", "value", (json_int_t)value, "by",
	    value > 0 ? by : "none");
}

/*
 * "quota": the sandbox has a file system or a project quota of its own, whose
 * size statvfs() tells as the total.  "accounting": sessions are measured every
 * disk_account_seconds; each file also has an rlimit.  "rlimit": only that one,
 * which limits the size of each file, not of all together.
 */
static const char *
disk_limit_by(const struct provider *p, const struct sandbox_spec *s)
{
	struct capacity c;
	struct err ignored; /* then a quota cannot be promised */

	if (s->disk_mb > 0 && local_capacity(p, s->id, &c, &ignored) == 0 &&
	    c.total_bytes <= s->disk_mb << 20 && local_own_disk(p, s->id))
		return "quota";
	return p->conf->disk_account_seconds > 0 ? "accounting" : "rlimit";
}

/*
 * "watchdog" is the agent's, which measures a cell's memory; each process also
 * has an rlimit.  Without a cgroup nothing limits the processor.
 */
static json_t *
limits_json(const struct provider *p, const struct sandbox_spec *s)
{
	auto_box struct box b = BOX_CLOSED;
	struct cgroup_tree t = { .ops = &CGROUP_NONE };
	struct err ignored; /* then a cgroup cannot be promised */

	if (box_open(p, s->id, &b, &ignored) < 0 ||
	    box_cgroups(p, &b, &t, &ignored) < 0)
		t = (struct cgroup_tree){ .ops = &CGROUP_NONE };
	return json_pack("{s:o, s:o, s:o, s:o}", "memoryMb",
	    limit_json(s->memory_mb,
		cgroup_holds(&t, CGROUP_MEMORY) ? "cgroup" : "watchdog"),
	    "cpuMillis",
	    limit_json(s->cpu_millis,
		cgroup_holds(&t, CGROUP_CPU) ? "cgroup" : "none"),
	    "diskMb", limit_json(s->disk_mb, disk_limit_by(p, s)), "pids",
	    limit_json(s->pids,
		cgroup_holds(&t, CGROUP_PIDS) ? "cgroup" : "rlimit"));
}

static int
agent_log(const struct provider *p, const char *id, size_t max, struct buf *out,
    struct err *e)
{
	auto_box struct box b = BOX_CLOSED;

	if (box_open(p, id, &b, e) < 0)
		return -1;
	return box_log_tail(&b, 0, max, out, e);
}

/* Removes old tombstones; a busy one is left for the next sweep. */
static int
bury_old(const struct provider *p, int64_t deadline_ms, struct err *e)
{
	auto_free char *all = xasprintf("%s/box", p->conf->state_dir);
	auto_names char **names = NULL;
	auto_gone struct gone_list gone = { 0 };

	if (gone_bury(p, deadline_ms, e) < 0 || gone_list(p, &gone, e) < 0 ||
	    file_names(AT_FDCWD, all, &names, e) < 0)
		return -1;
	for (char **n = names; *n != NULL && clock_left_ms(deadline_ms) > 0;
	     n++)
		if (box_is_name(*n) && !gone_has(&gone, *n) &&
		    box_bury(p, *n, e) < 0 && e->kind != ERR_BUSY &&
		    e->kind != ERR_CONFLICT)
			return -1;
	return 0;
}

static int
sweep(const struct provider *p, int64_t deadline_ms, bool *left, struct err *e)
{
	bool more;

	if (snapshot_spares_sweep(p, e) < 0 ||
	    trash_sweep(p, deadline_ms, left, e) < 0 ||
	    storage_sweep(p, deadline_ms, &more, e) < 0)
		return -1;
	*left = *left || more;
	if (bury_old(p, deadline_ms, e) < 0)
		return -1;
	if (job_sweep(p, e) < 0)
		return -1;
	return local_sweep_groups(p, deadline_ms, e);
}

const struct provider_ops PROVIDER_LOCAL = {
	.name = "local",
	.open = local_open,
	.check = local_check,
	.ready = local_ready,
	.ensure = local_ensure,
	.inspect = local_inspect,
	.list = local_list,
	.stop = local_stop,
	.destroy = local_destroy,
	.begin_end = local_begin_end,
	.suspend = local_suspend,
	.resume = local_resume,
	.thaw_orphans = local_thaw_orphans,
	.open_channel = open_channel,
	.storage_id = storage_id,
	.storage_mark = storage_mark,
	.storage_check = storage_check,
	.storage_make = make_storage,
	.storage_from = fill_storage,
	.storage_exists = find_storage,
	.storage_drop = drop_storage,
	.storage_list = local_storage_list,
	.workspaces = local_workspaces,
	.capacity = local_capacity,
	.own_disk = local_own_disk,
	.ballast = local_ballast,
	.ballast_size = local_ballast_size,
	.cell_freeze = local_freeze,
	.frozen = local_frozen,
	.cell_open = cell_open,
	.cell_gone = cell_gone,
	.run_open = run_open,
	.run_remove = run_remove,
	.cell_list = local_cell_list,
	.usage = local_usage,
	.limits = limits_json,
	.agent_log = agent_log,
	.snapshot_take = snapshot_take,
	.snapshot_look = snapshot_look,
	.snapshot_drop = snapshot_drop,
	.snapshot_list = snapshot_list,
	.sweep = sweep,
};
