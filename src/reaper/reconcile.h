/*
 * reconcile.h: rows without things, things without rows.
 */
#ifndef SANDLEASE_REAPER_RECONCILE_H
#define SANDLEASE_REAPER_RECONCILE_H

#include "reaper/pass.h"

/*
 * Compares what this host's rows say with what is there: sandboxes, cells,
 * directories, sockets.  The host's list goes to the database, which answers
 * only what differs.  A list that fails aborts its part: an error is never an
 * empty list.
 */
void reconcile(struct pass *p);

#endif
