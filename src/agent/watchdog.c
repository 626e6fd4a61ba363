/* watchdog.c: memory of a whole cell where no cgroup limits it. */
#include "agent/watchdog.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/proctree.h"
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

/* Bytes that are this process's own: resident, less what it shares. */
static int64_t
own_bytes(pid_t pid)
{
	char path[64], text[128] = "";
	int64_t resident, shared;
	auto_fd int fd = -1;

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0 ||
	    sscanf(text, "%*d %" SCNd64 " %" SCNd64, &resident, &shared) != 2)
		return 0; /* gone meanwhile */
	return (resident - shared) * sysconf(_SC_PAGESIZE);
}

static void
look_at(const struct cell *c)
{
	auto_tree struct proctree tree = { 0 };
	int64_t sum = 0, most = 0;
	pid_t wrapper, largest = 0;

	proctree_take(c->pid, &tree);
	if (tree.count == 0)
		return;
	wrapper = proctree_first(&tree);
	for (size_t i = 0; i < tree.count; i++) {
		int64_t bytes = own_bytes(tree.procs[i].pid);

		sum += bytes;
		if (tree.procs[i].pid != wrapper && bytes > most) {
			most = bytes;
			largest = tree.procs[i].pid;
		}
	}
	if (sum <= c->memory_mb << 20 || largest == 0)
		return;
	/* a pid that ended since would have to be used again within a moment */
	kill(largest, SIGKILL);
	log_line(LOG_WARN, "memory",
	    "session %s has %" PRId64 " MB of %" PRId64
	    ": its largest process was ended",
	    c->session, sum >> 20, c->memory_mb);
}

void
watchdog_look(const struct cells *t)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->cell[i].memory_mb > 0)
			look_at(&t->cell[i]);
}
