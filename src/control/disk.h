/*
 * disk.h: keeps one tenant from filling the disk for all.
 *
 * Every reaper pass calls this, and so does the master's disk watcher when the
 * disk needs it.  The measures that keep the host alive (ballast, freezing)
 * need no database, because the database may suffer from the full disk itself.
 * The rows are written afterwards.
 */
#ifndef SANDLEASE_CONTROL_DISK_H
#define SANDLEASE_CONTROL_DISK_H

#include <stdbool.h>

#include "control/control.h"

/*
 * Whether disk_guard() has work.  Costs one statvfs() and two looks at files.
 */
bool disk_wants_guard(const struct control *ctl);

/*
 * Below the low-water mark: freezes the heaviest writer (disk_heaviest).  Below
 * a quarter of it: gives up the ballast, a file that only reserves space.  With
 * room again: thaws all sessions and makes the ballast anew.  Room is bytes and
 * inodes (disk_room).
 */
int disk_guard(struct control *ctl, struct err *e) MUST_CHECK;

/* {freeMb, totalMb, freeInodes, totalInodes} of this host, or NULL. */
json_t *disk_json(const struct control *ctl);

/*
 * Writes into the rows which sessions are frozen, as disk_guard() does after a
 * change.
 */
int disk_tell(struct control *ctl, struct err *e) MUST_CHECK;

/*
 * Measures the sessions that were not measured for disk_account_seconds.  A
 * session that is over its sandbox's limit gets a warning, and is put to sleep
 * if it still is over it at the next measurement.  It is put to sleep at once
 * if not all of its files could be measured.
 */
int disk_account(struct control *ctl, int64_t deadline_ms, struct err *e)
    MUST_CHECK;

#endif
