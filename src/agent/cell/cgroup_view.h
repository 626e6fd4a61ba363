/*
 * cgroup_view.h: a cell's own cgroup, read-only, at /sys/fs/cgroup.
 *
 * Runtimes that know of containers (Java, Go, .NET) read their memory limit
 * there.  Nothing but the cell's group is to be seen, by a namespace of its
 * own, and that is shown only if it has the class's limit: a group that is not
 * the cell's is not the tenant's business.
 */
#ifndef SANDLEASE_AGENT_CELL_CGROUP_VIEW_H
#define SANDLEASE_AGENT_CELL_CGROUP_VIEW_H

#include "agent/cell/launch.h"

/*
 * In a cell's first process, when it has joined `groups` (cgroup.procs files) and
 * limits_view_mount() is done.  Where the kernel refuses, there is no view.
 */
void cgroup_view_mount(const struct launch *l, const int *groups, size_t count);

#endif
