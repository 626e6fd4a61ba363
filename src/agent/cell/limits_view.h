/*
 * limits_view.h: the size of the machine as programs in a cell see it.
 *
 * Files of ours lie over /proc/meminfo, /proc/cpuinfo and in
 * /sys/devices/system/cpu, and say what the class allows: a program that
 * sizes itself by them fits in.  What is used is written when the session is
 * asked for something or its terminal prints, once a second at most: nobody
 * wakes up for it.  Not covered: sysinfo(2), sched_getaffinity(2), /proc/stat.
 */
#ifndef SANDLEASE_AGENT_CELL_LIMITS_VIEW_H
#define SANDLEASE_AGENT_CELL_LIMITS_VIEW_H

#include "agent/cell/launch.h"
#include "common/err.h"
#include "common/str.h"

/*
 * In a cell's first process, after /proc and before /tmp is mounted, which
 * covers where the files lie.  *meminfo becomes a descriptor that writes what
 * /proc/meminfo says, or stays as it is.
 */
int limits_view_mount(const struct launch *l, int *meminfo, struct err *e)
    MUST_CHECK;

/* In the wrapper: takes the descriptor over. */
void limits_view_open(int meminfo, int64_t memory_mb);

/* Writes what is used now.  Any thread; cheap if it was done just now. */
void limits_view_refresh(void);

/* The text of /proc/meminfo, always of the same length.  For the test. */
void limits_view_meminfo(int64_t total_kb, int64_t own_kb, int64_t files_kb,
    struct buf *out);

/* The beginning of a /proc/cpuinfo that has `count` processors.  For the test. */
size_t limits_view_cpus(const char *text, int64_t count);

#endif
