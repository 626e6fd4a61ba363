/*
 * disk.h: one tenant must not fill the disk for all.
 *
 * Called by every reaper pass, and by the master's watcher when the disk asks
 * for it.  What keeps the host alive (ballast, freezing) needs no
 * database, which may be what is suffering; the rows are told afterwards.
 */
#ifndef SANDLEASE_CONTROL_DISK_H
#define SANDLEASE_CONTROL_DISK_H

#include <stdbool.h>

#include "control/control.h"

/* Whether disk_guard() has something to do.  One statvfs and two looks. */
bool disk_wants_guard(const struct control *ctl);

/*
 * Below the low-water mark: freezes the heaviest writer (disk_heaviest); below a
 * quarter of it: gives up the ballast.  With room again: everybody goes on, and
 * the ballast is made anew.  Room is bytes and inodes (disk_room).
 */
int disk_guard(struct control *ctl, struct err *e) MUST_CHECK;

/* {freeMb, totalMb, freeInodes, totalInodes} of this host, or NULL. */
json_t *disk_json(const struct control *ctl);

/* The rows say who is frozen; disk_guard() does this after a change. */
int disk_tell(struct control *ctl, struct err *e) MUST_CHECK;

/*
 * Measures the sessions that have not been for disk_account_seconds.  One that
 * is over its sandbox's limit is told so, and at the next time put to sleep; at
 * once if not all of it could be measured.
 */
int disk_account(struct control *ctl, int64_t deadline_ms, struct err *e)
    MUST_CHECK;

#endif
