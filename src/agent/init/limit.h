/*
 * limit.h: changes the limits of a cell that runs.
 */
#ifndef SANDLEASE_AGENT_INIT_LIMIT_H
#define SANDLEASE_AGENT_INIT_LIMIT_H

#include "agent/init/cells.h"

/*
 * Takes the limits of the message in place of those of the launch, as far as
 * they are init's: the size of /tmp, the watchdog's memory, the disk.  The
 * wrapper has the others.  -1 if more is in /tmp than it may hold.
 */
int limit_cell(struct cell *c, const json_t *msg, struct err *e) MUST_CHECK;

#endif
