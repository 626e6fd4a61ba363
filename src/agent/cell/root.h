/*
 * root.h: gives a cell a root file system that its session may change.
 *
 * It is an overlay.  Its lower layer is the class's root file system, read-only
 * and shared by all cells.  Its upper layer has the session's changes and lies
 * in the session's own storage (CELL_ROOT_PART).  So changes persist, count as
 * disk usage of the session, and are deleted with it.
 */
#ifndef SANDLEASE_AGENT_CELL_ROOT_H
#define SANDLEASE_AGENT_CELL_ROOT_H

#include "common/err.h"

/* The directory of a session's storage for changes of the root. */
#define CELL_ROOT_PART "root"

/*
 * Called once, by init: turns off the capabilities that only mounting the
 * overlay needs, until cell_root_enter() does that.
 */
int cell_root_prepare(struct err *e) MUST_CHECK;

/*
 * Mounts the overlay, with /proc, /dev, our programs and the session's
 * directories in it, and makes it the root of this process.  Nothing of the
 * sandbox's own root is left in this mount namespace.
 */
int cell_root_enter(const char *session, struct err *e) MUST_CHECK;

#endif
