/*
 * cell.h: what encloses one wrapper and everything it starts.
 *
 * A process with its own pid, mount, ipc and network namespace: its own
 * /proc, /tmp, loopback, /workspace, /home/user and /var/backups, none of its
 * siblings'.  It has no capability left, a system call filter, limits, and its
 * cgroup before anything of the tenant's runs.  When its first process has been
 * waited for, the kernel has emptied it: absence is a fact.
 */
#ifndef SANDLEASE_AGENT_CELL_CELL_H
#define SANDLEASE_AGENT_CELL_CELL_H

#include <stdbool.h>
#include <sys/types.h>

#include "agent/cell/launch.h"
#include "common/err.h"

struct cell_setup {
	const struct launch *launch;
	const char *agent; /* path of this program, inside */
	int channel;       /* the wrapper's end, borrowed */
	const int *cgroups;
	size_t cgroup_count;
	bool writable_root; /* see cell/root.h; its user is root */
};

/*
 * Clones the cell's first process and returns its pid; what goes wrong in it
 * is reported on the channel as {"ok":false,...}.
 */
pid_t cell_start(const struct cell_setup *s, struct err *e) MUST_CHECK;

/*
 * Once, by init: directories every cell needs as mount points, and where our
 * arguments lie, which are none of the tenant's business.
 */
void cell_prepare(char **argv);

#endif
