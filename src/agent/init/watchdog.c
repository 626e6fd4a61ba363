/* watchdog.c: limits the memory of a whole cell where no cgroup does. */
#include "agent/init/watchdog.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/base/procmem.h"
#include "agent/base/proctree.h"
#include "common/log.h"
#include "common/mem.h"

enum { EVERY_MS = 500 };

int64_t
watchdog_next(const struct cells *t, int64_t last_ms)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->cell[i].memory_mb > 0)
			return last_ms + EVERY_MS;
	return INT64_MAX;
}

static void
check_cell(const struct cell *c)
{
	auto_tree struct proctree tree = { 0 };
	int64_t sum = 0, most = 0;
	pid_t wrapper, largest = 0;

	proctree_take(c->pid, &tree);
	if (tree.count == 0)
		return;
	wrapper = proctree_first(&tree);
	for (size_t i = 0; i < tree.count; i++) {
		int64_t bytes = procmem_own(tree.procs[i].pid);

		sum += bytes;
		if (tree.procs[i].pid != wrapper && bytes > most) {
			most = bytes;
			largest = tree.procs[i].pid;
		}
	}
	if (sum <= c->memory_mb << 20 || largest == 0)
		return;
	/* the kernel would have to reuse the pid within this moment */
	kill(largest, SIGKILL);
	log_line(LOG_WARN, "memory",
	    "session %s has %" PRId64 " MB of %" PRId64
	    ": its largest process was killed",
	    c->session, sum >> 20, c->memory_mb);
}

void
watchdog_look(const struct cells *t)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->cell[i].memory_mb > 0)
			check_cell(&t->cell[i]);
}
