/*
 * members.h: ends members of the warm pool that are not wanted any more.
 */
#ifndef SANDLEASE_REAPER_MEMBERS_H
#define SANDLEASE_REAPER_MEMBERS_H

#include "reaper/pass.h"

/*
 * `seen`: the list of inventory_sandboxes(), made after `since`.  Members that
 * are missing are started by sandlease-api.
 */
void members_settle(struct pass *p, const json_t *seen, const char *since);

#endif
