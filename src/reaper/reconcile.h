/*
 * reconcile.h: rows without sandboxes, sandboxes without rows.
 */
#ifndef SANDLEASE_REAPER_RECONCILE_H
#define SANDLEASE_REAPER_RECONCILE_H

#include "reaper/pass.h"

/*
 * Compares what this host's rows say with what runs.  A list that fails
 * aborts it: an error is never an empty list.
 */
void reconcile(struct pass *p);

#endif
