/* v1.c: limits and freezing in cgroup v1, one hierarchy per controller. */
#include <errno.h>
#include <unistd.h>

#include "common/mem.h"
#include "provider/cgroup/cgroup.h"
#include "provider/host/file.h"

static const struct cgroup_row ROWS[] = {
	{ CGROUP_MEMORY, "memory.limit_in_bytes", .suffix = "" },
	/* memory and swap together: swap must not extend the limit */
	{ CGROUP_MEMORY, "memory.memsw.limit_in_bytes", .suffix = "",
	    .optional = true },
	/*
	 * The limit above does not count buffers of sockets.  Without this one
	 * only the machine's net.ipv4.tcp_mem would limit them.
	 */
	{ CGROUP_MEMORY, "memory.kmem.tcp.limit_in_bytes", .suffix = "",
	    .part = 8, .optional = true },
	{ CGROUP_PIDS, "pids.max", .suffix = "" },
	{ CGROUP_CPU, "cpu.cfs_quota_us", .suffix = "" }, /* period: 100 ms */
};

static const struct cgroup_meter METERS[] = {
	{ CGROUP_MEMORY, "memory.max_usage_in_bytes", "memoryPeak", "", 1 },
	{ CGROUP_MEMORY, "memory.oom_control", "oomKills", "oom_kill", 1 },
	/* where one hierarchy has both cpu and cpuacct */
	{ CGROUP_CPU, "cpuacct.usage_user", "cpuUserUs", "", 1000 },
	{ CGROUP_CPU, "cpuacct.usage_sys", "cpuSystemUs", "", 1000 },
	{ CGROUP_PIDS, "cgroup.procs", "procs", "", 1 },
	{ CGROUP_PIDS, "pids.max", "pidsMax", "", 1, .written = true },
};

static const struct cgroup_gauge GAUGES[] = {
	{ CGROUP_MEMORY, "memory.usage_in_bytes", CGROUP_GAUGE_MEMORY, "", 1 },
	{ CGROUP_MEMORY, "memory.stat", CGROUP_GAUGE_MEMORY_IDLE,
	    "total_inactive_file", 1 },
	{ CGROUP_MEMORY, "memory.max_usage_in_bytes", CGROUP_GAUGE_MEMORY_PEAK,
	    "", 1 },
	/* where one hierarchy has both cpu and cpuacct */
	{ CGROUP_CPU, "cpuacct.usage_user", CGROUP_GAUGE_CPU_USER_US, "",
	    1000 },
	{ CGROUP_CPU, "cpuacct.usage_sys", CGROUP_GAUGE_CPU_SYS_US, "", 1000 },
	{ CGROUP_PIDS, "pids.current", CGROUP_GAUGE_THREADS, "", 1 },
};

static int
prepare(const char *dir, unsigned controllers, struct err *e)
{
	(void)dir, (void)controllers, (void)e;
	return 0; /* in v1 children always have the controllers */
}

/* Only the freezer's hierarchy has the file; in others nothing is to do. */
static int
freeze(const char *dir, bool on, struct err *e)
{
	auto_free char *path = xasprintf("%s/freezer.state", dir);

	if (access(path, F_OK) < 0)
		return errno == ENOENT ? 0 : err_errno(e, "%s", path);
	return file_put(path, on ? "FROZEN" : "THAWED", e);
}

static bool
kill_at_once(const char *dir)
{
	(void)dir;
	return false;
}

/*
 * `tasks` moves only the calling thread.  cgroup.procs would block every fork
 * and exit of the machine during the move, and for that it waits for an RCU
 * grace period (8 to 16 ms at 250 Hz).
 */
const struct cgroup_ops CGROUP_V1 = { .name = "v1",
	.rows = ROWS,
	.row_count = ARRAY_LEN(ROWS),
	.meters = METERS,
	.meter_count = ARRAY_LEN(METERS),
	.gauges = GAUGES,
	.gauge_count = ARRAY_LEN(GAUGES),
	.join = "tasks",
	.leaf = "",
	.prepare = prepare,
	.split = prepare, /* and a group with processes may have children */
	.freeze = freeze,
	.freezer = "freezer.state",
	.frozen = "FROZEN",
	.thawed = "THAWED",
	.state = "freezer.state",
	.is_frozen = "FROZEN",
	.kill = kill_at_once };
