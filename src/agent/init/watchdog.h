/*
 * watchdog.h: memory of a whole cell where no cgroup limits it.
 *
 * An rlimit holds a single process; many small ones are added up here, twice
 * a second, and the largest is ended when they are too large together.
 */
#ifndef SANDLEASE_AGENT_INIT_WATCHDOG_H
#define SANDLEASE_AGENT_INIT_WATCHDOG_H

#include <stdint.h>

#include "agent/init/cells.h"

/* When to look again, of clock_ms(); INT64_MAX: there is nothing to watch. */
int64_t watchdog_next(const struct cells *t, int64_t last_ms);

/* Looks at every cell that has a limit, and ends what is too large. */
void watchdog_look(const struct cells *t);

#endif
