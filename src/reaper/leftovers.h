/*
 * leftovers.h: compares cells, directories and sockets with leases and
 * sessions, and removes those that are over or unknown.
 *
 * `since` is the time at which the reconciliation began, by the database's
 * clock.
 */
#ifndef SANDLEASE_REAPER_LEFTOVERS_H
#define SANDLEASE_REAPER_LEFTOVERS_H

#include "reaper/pass.h"

/*
 * Stops wrappers that no lease owns.  Puts a session to sleep whose wrapper is
 * gone though its sandbox runs.  Removes empty control groups.  `sandboxes` is
 * the list of inventory_sandboxes().
 */
void leftovers_cells(struct pass *p, const json_t *sandboxes,
    const char *since);

/* Removes directories of sessions that are over, or that no row knows. */
void leftovers_storage(struct pass *p, const char *since);

/* Removes sockets of generations that are over, or that no lease knows. */
void leftovers_sockets(struct pass *p, const char *since);

#endif
