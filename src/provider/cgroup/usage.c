/* usage.c: reads what the groups of a sandbox or a cell have used. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "common/mem.h"
#include "common/str.h"
#include "provider/cgroup/cgroup.h"
#include "provider/host/file.h"

enum { GAUGE_TEXT_MAX = 16 * 1024 };

/* Finds "key number" at the start of a line; without a key, the first number. */
static bool
parse_gauge(char *text, const char *key, int64_t *out)
{
	size_t len = strlen(key);

	for (char *line; (line = strsep(&text, "\n")) != NULL;) {
		if (len > 0 && !(str_starts(line, key) && line[len] == ' '))
			continue;
		return str_to_int(line + (len > 0 ? len + 1 : 0), 0, INT64_MAX,
		    out);
	}
	return false;
}

/* A file that this kernel does not have, or a group that is gone, is skipped. */
static int
read_gauge(const char *dir, const struct cgroup_gauge *g, int64_t *out,
    struct err *e)
{
	auto_free char *path = xasprintf("%s/%s", dir, g->file);
	auto_buf struct buf text = { 0 };
	int64_t n;
	bool found;

	if (file_read(AT_FDCWD, path, GAUGE_TEXT_MAX, &found, &text, e) < 0)
		return errno == ENODEV ? 0 : -1;
	if (found && text.len > 0 && parse_gauge(text.data, g->key, &n))
		*out = n / g->part;
	return 0;
}

static int
read_gauges(const struct cgroup_tree *t, const struct cgroup_hierarchy *h,
    const char *dir, int64_t number[CGROUP_GAUGE__MAX], struct err *e)
{
	for (size_t i = 0; i < t->ops->gauge_count; i++) {
		const struct cgroup_gauge *g = &t->ops->gauges[i];

		if ((h->controllers & 1U << g->controller) != 0 &&
		    read_gauge(dir, g, &number[g->what], e) < 0)
			return -1;
	}
	return 0;
}

/*
 * Cache of files that were not read lately is given up before a limit is met,
 * so it is not counted.  The kernel may count both at different moments.
 */
static int64_t
memory_in_use(int64_t all, int64_t idle)
{
	if (all < 0 || idle < 0)
		return all;
	return all > idle ? all - idle : 0;
}

int
cgroup_usage(const struct cgroup_tree *t, const char *name, const char *session,
    struct usage *out, struct err *e)
{
	struct cgroup_procs procs;
	int64_t number[CGROUP_GAUGE__MAX];

	*out = USAGE_UNKNOWN;
	for (size_t i = 0; i < CGROUP_GAUGE__MAX; i++)
		number[i] = -1;
	if (cgroup_procs(t, name, session, &procs, e) < 0)
		return -1;
	for (size_t i = 0; procs.count > 0 && i < t->count; i++) {
		auto_free char *dir = xasprintf("%s/box/%s%s%s", t->at[i].dir,
		    name, session != NULL ? "/" CGROUP_CELL_PREFIX : "",
		    session != NULL ? session : "");

		if (read_gauges(t, &t->at[i], dir, number, e) < 0)
			return -1;
	}
	out->running = procs.count > 0;
	if (!out->running)
		return 0;
	out->processes = (int64_t)procs.count;
	out->threads = number[CGROUP_GAUGE_THREADS] >= 0
	    ? number[CGROUP_GAUGE_THREADS]
	    : procs.threads;
	out->memory_bytes = memory_in_use(number[CGROUP_GAUGE_MEMORY],
	    number[CGROUP_GAUGE_MEMORY_IDLE]);
	out->memory_peak_bytes = number[CGROUP_GAUGE_MEMORY_PEAK];
	out->cpu_user_us = number[CGROUP_GAUGE_CPU_USER_US];
	out->cpu_sys_us = number[CGROUP_GAUGE_CPU_SYS_US];
	/* a v1 hierarchy of cpu without cpuacct counts no time */
	if (out->cpu_user_us < 0 || out->cpu_sys_us < 0) {
		out->cpu_user_us = procs.user_us;
		out->cpu_sys_us = procs.sys_us;
	}
	out->cpu_us = out->cpu_user_us + out->cpu_sys_us;
	return 0;
}
