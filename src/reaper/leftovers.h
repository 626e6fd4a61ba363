/*
 * leftovers.h: cells, directories and sockets against leases and sessions.
 *
 * `since` is when the reconciliation began, as the database says it.
 */
#ifndef SANDLEASE_REAPER_LEFTOVERS_H
#define SANDLEASE_REAPER_LEFTOVERS_H

#include "reaper/pass.h"

/*
 * Wrappers nobody owns are to be stopped; a session whose wrapper is gone
 * though its sandbox runs is asleep.  Empty control groups go.  `sandboxes` as
 * of inventory_sandboxes().
 */
void leftovers_cells(struct pass *p, const json_t *sandboxes,
    const char *since);

/* Directories of sessions that are over, or that nobody knows. */
void leftovers_storage(struct pass *p, const char *since);

/* Sockets of generations that are over. */
void leftovers_sockets(struct pass *p, const char *since);

#endif
