/*
 * cell.h: makes a cell, the enclosure of one wrapper and everything it starts.
 *
 * A cell has its own pid, mount, ipc and network namespace: its own /proc, /tmp,
 * loopback, /workspace, /home/user and /var/backups, and none of its siblings'.
 * Beside at most one cell, init is in the same network namespace.
 * Before any code of the tenant runs, the cell has joined its cgroups, set its
 * limits, installed a system call filter and dropped all capabilities.  After
 * init has waited for the cell's first process, no process of the cell exists:
 * the kernel has killed them all.
 */
#ifndef SANDLEASE_AGENT_CELL_CELL_H
#define SANDLEASE_AGENT_CELL_CELL_H

#include <stdbool.h>
#include <sys/types.h>

#include "agent/cell/launch.h"
#include "common/err.h"

struct cell_options {
	const struct launch *launch;
	const char *agent;  /* path of this program, inside the cell */
	int channel;        /* the wrapper's end, borrowed */
	const int *cgroups; /* open cgroup.procs files */
	size_t cgroup_count;
	bool writable_root; /* see cell/root.h; the cell's user is root */
	bool keeps_network; /* has init's network namespace, not a new one */
};

/*
 * Clones the cell's first process and returns its pid.  The first process
 * reports its own errors on the channel, as {"ok":false,...}.
 */
pid_t cell_start(const struct cell_options *s, struct err *e) MUST_CHECK;

/*
 * Called once, by init: makes the directories that cells need as mount points.
 * Remembers where argv lies: cells overwrite their copy, because the tenant must
 * not see init's arguments.
 */
void cell_prepare(char **argv);

#endif
