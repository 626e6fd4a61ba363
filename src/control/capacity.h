/*
 * capacity.h: whether there is room for a new workspace.
 *
 * The class's disk was reserved by the create statement; this is the second
 * look, at the disk itself.  Whatever it finds, no sandbox ends by it.
 */
#ifndef SANDLEASE_CONTROL_CAPACITY_H
#define SANDLEASE_CONTROL_CAPACITY_H

#include "control/control.h"

/*
 * Admits a session's first start, or fails with ERR_NO_SPACE
 * "insufficient_storage": too little room even after what is stale of this
 * owner has gone, or no way to tell.
 */
int capacity_admit(struct control *ctl, const char *sandbox,
    const char *session, int64_t deadline_ms, struct err *e) MUST_CHECK;

#endif
