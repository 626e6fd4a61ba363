/* v2.c: limits, freezing and killing in cgroup v2. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/str.h"
#include "provider/cgroup/cgroup.h"
#include "provider/host/file.h"

enum { PROCS_MAX = 4 * 1024 * 1024, SPLIT_ROUNDS = 100 };

static const struct cgroup_row ROWS[] = {
	{ CGROUP_MEMORY, "memory.max", .suffix = "" },
	{ CGROUP_MEMORY, "memory.swap.max", .always = "0", .optional = true },
	{ CGROUP_PIDS, "pids.max", .suffix = "" },
	{ CGROUP_CPU, "cpu.max", .suffix = " 100000" },
};

static const struct cgroup_meter METERS[] = {
	{ CGROUP_MEMORY, "memory.peak", "memoryPeak", "", 1 },
	{ CGROUP_MEMORY, "memory.current", "memoryNow", "", 1 },
	{ CGROUP_MEMORY, "memory.events", "oomKills", "oom_kill", 1 },
	{ CGROUP_CPU, "cpu.stat", "cpuUserUs", "user_usec", 1 },
	{ CGROUP_CPU, "cpu.stat", "cpuSystemUs", "system_usec", 1 },
	{ CGROUP_FREEZER, "cgroup.procs", "procs", "", 1 },
	{ CGROUP_PIDS, "pids.max", "pidsMax", "", 1, .written = true },
	{ CGROUP_FREEZER, "cgroup.kill", "kill", "", 1, .written = true },
};

static const struct cgroup_gauge GAUGES[] = {
	{ CGROUP_MEMORY, "memory.current", CGROUP_GAUGE_MEMORY, "", 1 },
	{ CGROUP_MEMORY, "memory.stat", CGROUP_GAUGE_MEMORY_IDLE,
	    "inactive_file", 1 },
	{ CGROUP_MEMORY, "memory.peak", CGROUP_GAUGE_MEMORY_PEAK, "", 1 },
	/* every group counts time, with or without the controller */
	{ CGROUP_FREEZER, "cpu.stat", CGROUP_GAUGE_CPU_USER_US, "user_usec",
	    1 },
	{ CGROUP_FREEZER, "cpu.stat", CGROUP_GAUGE_CPU_SYS_US, "system_usec",
	    1 },
	{ CGROUP_PIDS, "pids.current", CGROUP_GAUGE_THREADS, "", 1 },
};

/* Enables these controllers for the children of `dir`. */
static int
prepare(const char *dir, unsigned controllers, struct err *e)
{
	auto_free char *path = xasprintf("%s/cgroup.subtree_control", dir);

	for (int c = 0; c < CGROUP__MAX; c++) {
		auto_free char *text =
		    xasprintf("+%s", CGROUP_CONTROLLER_NAMES[c]);

		/* in v2 every group can freeze, without a controller */
		if (c == CGROUP_FREEZER || (controllers & (1U << c)) == 0)
			continue;
		if (file_put(path, text, e) < 0)
			return -1;
	}
	return 0;
}

/* Moves the processes of `dir` to `leaf`; *moved says whether there were any. */
static int
move_procs(const char *dir, const char *leaf, bool *moved, struct err *e)
{
	auto_free char *from = xasprintf("%s/cgroup.procs", dir);
	auto_free char *to = xasprintf("%s/cgroup.procs", leaf);
	auto_buf struct buf text = { 0 };
	char *rest;
	bool found;

	*moved = false;
	if (file_read(AT_FDCWD, from, PROCS_MAX, &found, &text, e) < 0)
		return -1;
	rest = found ? text.data : NULL;
	for (char *pid; (pid = strsep(&rest, "\n")) != NULL;) {
		if (pid[0] == '\0')
			continue;
		*moved = true;
		/* ESRCH: it has ended */
		if (file_put(to, pid, e) < 0 && errno != ESRCH)
			return -1;
	}
	return 0;
}

/*
 * Processes that fork during the move make more rounds necessary; the children
 * of a moved process are in the leaf.
 */
static int
split(const char *dir, unsigned controllers, struct err *e)
{
	auto_free char *leaf = xasprintf("%s/" CGROUP_CELL_MAIN, dir);
	bool moved = true;

	if (mkdir(leaf, 0755) < 0 && errno != EEXIST)
		return err_errno(e, "mkdir %s", leaf);
	for (int i = 0; moved && i < SPLIT_ROUNDS; i++)
		if (move_procs(dir, leaf, &moved, e) < 0)
			return -1;
	return prepare(dir, controllers, e);
}

static int
freeze(const char *dir, bool on, struct err *e)
{
	auto_free char *path = xasprintf("%s/cgroup.freeze", dir);

	if (access(path, F_OK) < 0)
		return errno == ENOENT ? 0 : err_errno(e, "%s", path);
	return file_put(path, on ? "1" : "0", e);
}

static bool
kill_at_once(const char *dir)
{
	auto_free char *path = xasprintf("%s/cgroup.kill", dir);
	struct err ignored; /* kernels before 5.14 have no cgroup.kill */

	return file_put(path, "1", &ignored) == 0;
}

const struct cgroup_ops CGROUP_V2 = { .name = "v2",
	.rows = ROWS,
	.row_count = ARRAY_LEN(ROWS),
	.meters = METERS,
	.meter_count = ARRAY_LEN(METERS),
	.gauges = GAUGES,
	.gauge_count = ARRAY_LEN(GAUGES),
	.join = "cgroup.procs",
	.leaf = "/init",
	.prepare = prepare,
	.split = split,
	.freeze = freeze,
	.freezer = "cgroup.freeze",
	.frozen = "1",
	.thawed = "0",
	.state = "cgroup.events",
	.is_frozen = "frozen 1",
	.kill = kill_at_once };
