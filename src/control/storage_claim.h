/*
 * storage_claim.h: whether the files of this host are where we look for them.
 *
 * <state_dir>/storage/.id is compared with the host's row before anything is
 * done.  If a disk is not mounted, or is another one, programs refuse to act:
 * sessions would seem to have lost their files, and that is for good.
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
 * Whether it still is, now: before an intent to start, which could only wait for
 * files that are not there.
 */
int storage_is_here(const struct control *ctl, struct err *e) MUST_CHECK;

/* What an operator said by storage_adopt. */
struct storage_adopted {
	char id[STORAGE_ID_MAX];
	int64_t sandboxes, snapshots; /* that were another host's */
};

/*
 * Makes the storage that is here this host's, whatever was known.  `from`: what
 * that host had becomes this host's; "" for none.
 */
int storage_adopt(const struct conf *conf, struct store *st, const char *from,
    struct storage_adopted *out, struct err *e) MUST_CHECK;

#endif
