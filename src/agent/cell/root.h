/*
 * root.h: a root file system of a cell's own, which its session may change.
 *
 * The class's root file system lies below, read-only and shared by all cells;
 * what a session changes lies above it, in the session's own storage
 * (CELL_ROOT_PART), so that it persists, counts and goes with the session.
 */
#ifndef SANDLEASE_AGENT_CELL_ROOT_H
#define SANDLEASE_AGENT_CELL_ROOT_H

#include "common/err.h"

/* The directory of a session's storage that holds what it has changed. */
#define CELL_ROOT_PART "root"

/* Once, by init: capabilities that only mounting needs are not used until then. */
int cell_root_prepare(struct err *e) MUST_CHECK;

/*
 * Makes it the root of this process, with /proc, /dev, our programs and the
 * session's directories in it.  Nothing of the sandbox's own root is left in
 * this mount namespace.
 */
int cell_root_enter(const char *session, struct err *e) MUST_CHECK;

#endif
