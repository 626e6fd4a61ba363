/*
 * snapshots.h: snapshots whose worker did not come back, and their files.
 */
#ifndef SANDLEASE_REAPER_SNAPSHOTS_H
#define SANDLEASE_REAPER_SNAPSHOTS_H

#include "reaper/pass.h"

/* Settles what is being taken, removes what nobody wants or needs. */
void snapshots_clear(struct pass *p);

/* Directories against rows. */
void snapshots_leftovers(struct pass *p, const char *since);

#endif
