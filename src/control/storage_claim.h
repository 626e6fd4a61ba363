/*
 * storage_claim.h: checks that the storage here is this host's.
 *
 * <state_dir>/storage/.id is compared with the host's row before anything is
 * done.  If a disk is not mounted, or is another one, programs refuse to act:
 * else sessions would seem to have lost their files, and that is for good.
 */
#ifndef SANDLEASE_CONTROL_STORAGE_CLAIM_H
#define SANDLEASE_CONTROL_STORAGE_CLAIM_H

#include "control/control.h"

/*
 * ERR_UNAVAILABLE "storage_mismatch", with what to do, if the storage is not
 * this host's.  A new host, or one whose rows need no files, gets an id.
 */
int storage_claim(struct control *ctl, struct err *e) MUST_CHECK;

/*
 * Checks again that the storage is this host's.  Without this check, an intent
 * to start could only wait for files that are not there.
 */
int storage_is_here(const struct control *ctl, struct err *e) MUST_CHECK;

#endif
