/* v1.c: limits and freezing where each controller has its own tree. */
#include <errno.h>
#include <unistd.h>

#include "common/mem.h"
#include "provider/cgroup/cgroup.h"
#include "provider/host/file.h"

static const struct cgroup_row ROWS[] = {
	{ CGROUP_MEMORY, "memory.limit_in_bytes", .suffix = "" },
	/* memory and swap together, so that swap is no way out */
	{ CGROUP_MEMORY, "memory.memsw.limit_in_bytes", .suffix = "",
	    .optional = true },
	/*
	 * Not part of the memory above: buffers of sockets, which else only the
	 * machine's net.ipv4.tcp_mem would limit.
	 */
	{ CGROUP_MEMORY, "memory.kmem.tcp.limit_in_bytes", .suffix = "",
	    .part = 8, .optional = true },
	{ CGROUP_PIDS, "pids.max", .suffix = "" },
	{ CGROUP_CPU, "cpu.cfs_quota_us", .suffix = "" }, /* of 100 ms */
};

static int
prepare(const char *dir, unsigned controllers, struct err *e)
{
	(void)dir, (void)controllers, (void)e;
	return 0; /* children have what their parent has */
}

/* Only the freezer's tree has this file; in others there is nothing to do. */
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
 * `tasks` moves the calling thread alone.  cgroup.procs would stop every fork
 * and exit of the machine meanwhile, and wait for an RCU grace period (8 to
 * 16 ms at 250 Hz) to do so.
 */
const struct cgroup_ops CGROUP_V1 = { .name = "v1",
	.rows = ROWS,
	.row_count = ARRAY_LEN(ROWS),
	.join = "tasks",
	.leaf = "",
	.prepare = prepare,
	.freeze = freeze,
	.freezer = "freezer.state",
	.frozen = "FROZEN",
	.thawed = "THAWED",
	.state = "freezer.state",
	.is_frozen = "FROZEN",
	.kill = kill_at_once };
