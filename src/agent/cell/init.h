/*
 * init.h: runs the first process of a cell (not init, the sandbox's process 1).
 *
 * Starts the wrapper, reaps all children, and exits when the wrapper has ended;
 * then the kernel kills every other process of the cell.  SIGTERM from outside
 * the cell is passed on to all its processes.  After that the first process
 * stays until the last of them has ended, so that all have their time to shut
 * down.  It uses no heap, and no descriptor but 0, 1, 2.
 */
#ifndef SANDLEASE_AGENT_CELL_INIT_H
#define SANDLEASE_AGENT_CELL_INIT_H

#include <signal.h>

#include "agent/cell/launch.h"

/* Signals from outside the cell: stop (SIGSTOP) and continue all in it. */
enum { CELL_SIG_STOP = SIGUSR1, CELL_SIG_GO_ON = SIGUSR2 };

_Noreturn void cell_init_run(const struct launch *l, const char *agent);

#endif
