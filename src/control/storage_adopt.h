/*
 * storage_adopt.h: an operator says whose the storage is that is here.
 *
 * For when storage_claim.h refuses because a disk was replaced, restored or
 * brought over from a host that is no more.
 */
#ifndef SANDLEASE_CONTROL_STORAGE_ADOPT_H
#define SANDLEASE_CONTROL_STORAGE_ADOPT_H

#include "control/control.h"

/* What has become this host's. */
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
