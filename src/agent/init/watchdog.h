/*
 * watchdog.h: limits the memory of a whole cell where no cgroup does.
 *
 * An rlimit limits a single process only.  The watchdog adds up the memory of
 * all processes of a cell, twice a second, and kills the largest process when
 * the sum is above the cell's limit.
 */
#ifndef SANDLEASE_AGENT_INIT_WATCHDOG_H
#define SANDLEASE_AGENT_INIT_WATCHDOG_H

#include <stdint.h>

#include "agent/init/cells.h"

/* clock_ms() of the next check; INT64_MAX: no cell has a limit. */
int64_t watchdog_next(const struct cells *t, int64_t last_ms);

/* Checks every cell with a limit; kills at most one process in each. */
void watchdog_look(const struct cells *t);

#endif
