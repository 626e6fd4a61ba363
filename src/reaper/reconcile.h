/*
 * reconcile.h: finds rows without things and things without rows.
 */
#ifndef SANDLEASE_REAPER_RECONCILE_H
#define SANDLEASE_REAPER_RECONCILE_H

#include "reaper/pass.h"

/*
 * Compares the rows of this host with the sandboxes, cells, directories and
 * sockets that it has.  The host's list goes to the database, which answers
 * only the differences.  A list that fails aborts its part: an error is never
 * an empty list.
 */
void reconcile(struct pass *p);

#endif
