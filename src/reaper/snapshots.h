/*
 * snapshots.h: finishes snapshots whose worker did not come back, and removes
 * files of snapshots.
 */
#ifndef SANDLEASE_REAPER_SNAPSHOTS_H
#define SANDLEASE_REAPER_SNAPSHOTS_H

#include "reaper/pass.h"

/*
 * Settles snapshots that are being taken; removes those that are expired,
 * failed or deleted, once no session needs them.
 */
void snapshots_clear(struct pass *p);

/* Compares the directories of snapshots with the rows. */
void snapshots_leftovers(struct pass *p, const char *since);

#endif
