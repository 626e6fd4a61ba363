/*
 * storage_adopt.h: makes the storage here this host's, because an operator says
 * so.
 *
 * For when storage_claim.h refuses because a disk was replaced, restored or
 * brought over from a host that is no more.
 */
#ifndef SANDLEASE_CONTROL_STORAGE_ADOPT_H
#define SANDLEASE_CONTROL_STORAGE_ADOPT_H

#include "control/control.h"

/* The result: the id of the storage, and what it brought. */
struct storage_adopted {
	char id[STORAGE_ID_MAX];
	int64_t sandboxes, snapshots; /* that were another host's */
};

/*
 * Makes the storage that is here this host's, whatever the rows say.  Sandboxes
 * and snapshots of host `from` become this host's; "" for none.
 */
int storage_adopt(const struct conf *conf, struct store *st, const char *from,
    struct storage_adopted *out, struct err *e) MUST_CHECK;

#endif
