/* v2.c: limits, freezing and killing in cgroup v2. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/str.h"
#include "provider/cgroup/cgroup.h"
#include "provider/host/file.h"

static const struct cgroup_row ROWS[] = {
	{ CGROUP_MEMORY, "memory.max", .suffix = "" },
	{ CGROUP_MEMORY, "memory.swap.max", .always = "0", .optional = true },
	{ CGROUP_PIDS, "pids.max", .suffix = "" },
	{ CGROUP_CPU, "cpu.max", .suffix = " 100000" },
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
	.join = "cgroup.procs",
	.leaf = "/init",
	.prepare = prepare,
	.freeze = freeze,
	.freezer = "cgroup.freeze",
	.frozen = "1",
	.thawed = "0",
	.state = "cgroup.events",
	.is_frozen = "frozen 1",
	.kill = kill_at_once };
