/*
 * cgroup_view.h: mounts a cell's own cgroup, read-only, at /sys/fs/cgroup.
 *
 * Runtimes that know of containers (Java, Go, .NET) read their memory limit
 * there.  A cgroup namespace hides all other groups.  The group is shown only
 * if its memory limit is the class's: a group with another limit is not the
 * cell's own, and the tenant must not see it.
 */
#ifndef SANDLEASE_AGENT_CELL_CGROUP_VIEW_H
#define SANDLEASE_AGENT_CELL_CGROUP_VIEW_H

#include "agent/cell/launch.h"

/*
 * Called in a cell's first process, after it has joined `groups` (cgroup.procs
 * files) and after limits_view_mount().  If the kernel refuses, the cell has no
 * /sys/fs/cgroup.
 */
void cgroup_view_mount(const struct launch *l, const int *groups, size_t count);

#endif
