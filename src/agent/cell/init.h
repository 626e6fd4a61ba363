/*
 * init.h: the first process of a cell.
 *
 * Starts the wrapper, waits for whatever dies, and ends with the wrapper,
 * upon which the kernel ends everything else.  SIGTERM from outside the cell
 * is passed on to all in it; then it stays until the last has gone, so that
 * they have the time they are given.  No heap, no descriptor but 0, 1, 2.
 */
#ifndef SANDLEASE_AGENT_CELL_INIT_H
#define SANDLEASE_AGENT_CELL_INIT_H

#include <signal.h>

#include "agent/cell/launch.h"

/* From outside: stop all in the cell where they stand; let them go on. */
enum { CELL_SIG_STOP = SIGUSR1, CELL_SIG_GO_ON = SIGUSR2 };

_Noreturn void cell_init_run(const struct launch *l, const char *agent);

#endif
