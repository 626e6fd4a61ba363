/*
 * limits_view.h: shows programs in a cell the limits of their class as the size
 * of the machine.
 *
 * Files of ours are mounted over /proc/meminfo, /proc/cpuinfo and in
 * /sys/devices/system/cpu, so that a program that sizes itself by them stays
 * within its limits.  The used memory is updated when a call or terminal output
 * happens, once a second at most: there is no timer.  Not covered: sysinfo(2),
 * sched_getaffinity(2), /proc/stat.
 */
#ifndef SANDLEASE_AGENT_CELL_LIMITS_VIEW_H
#define SANDLEASE_AGENT_CELL_LIMITS_VIEW_H

#include "agent/cell/launch.h"
#include "common/err.h"
#include "common/str.h"

/*
 * Called in a cell's first process, after /proc is mounted and before /tmp,
 * which hides the directory of the files.  *meminfo becomes a descriptor that
 * writes the cell's /proc/meminfo, or stays as it is.
 */
int limits_view_mount(const struct launch *l, int *meminfo, struct err *e)
    MUST_CHECK;

/* Called in the wrapper: takes ownership of the descriptor. */
void limits_view_open(int meminfo, int64_t memory_mb);

/* The memory is another from now on; little of it is used. */
void limits_view_resize(int64_t memory_mb);

/* Updates the used memory.  Any thread; does nothing twice in a second. */
void limits_view_refresh(void);

/* Writes the text of /proc/meminfo, always of one length.  For the test. */
void limits_view_meminfo(int64_t total_kb, int64_t own_kb, int64_t files_kb,
    struct buf *out);

/* The length of the first `count` processors in `text`.  For the test. */
size_t limits_view_cpus(const char *text, int64_t count);

#endif
