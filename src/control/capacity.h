/*
 * capacity.h: checks whether this host has room for a new workspace.
 *
 * The create statement has reserved the disk of the class.  This is the second
 * check: it measures the disk itself.  It never ends a sandbox, whatever it
 * finds.
 */
#ifndef SANDLEASE_CONTROL_CAPACITY_H
#define SANDLEASE_CONTROL_CAPACITY_H

#include "control/control.h"

/*
 * Admits a new workspace, or fails with ERR_NO_SPACE "insufficient_storage":
 * there is too little room even after stale workspaces of the same owner were
 * removed, or the free space cannot be measured.
 */
int capacity_admit(struct control *ctl, const char *sandbox,
    const char *session, int64_t deadline_ms, struct err *e) MUST_CHECK;

#endif
