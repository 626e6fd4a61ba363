/*
 * rlimits.h: sets the rlimits of a cell.
 *
 * A process that the cell starts inherits them.
 */
#ifndef SANDLEASE_AGENT_CELL_RLIMITS_H
#define SANDLEASE_AGENT_CELL_RLIMITS_H

#include "agent/cell/launch.h"

/* Called in a cell's first process, which has no children yet. */
int rlimits_set(const struct launch *l, struct err *e) MUST_CHECK;

/*
 * Lowers those that rlimits_set() takes from the launch, for every process of
 * the cell; the caller is its wrapper.  The kernel refuses to raise one.
 */
int rlimits_lower(const struct launch *l, struct err *e) MUST_CHECK;

#endif
