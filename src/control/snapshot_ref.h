/*
 * snapshot_ref.h: where a snapshot's files are, and that they are not.
 *
 * What a start needs of snapshots.  Taking and removing them, which may start
 * a session, is snapshot_control.h's.
 */
#ifndef SANDLEASE_CONTROL_SNAPSHOT_REF_H
#define SANDLEASE_CONTROL_SNAPSHOT_REF_H

#include "control/control.h"
#include "provider/provider.h"

/* Where a snapshot of that tenant lies.  An empty id stays one. */
void snapshot_of(const char *tenant, const char *id, struct snapshot_ref *out);

/* Records whether its files were seen; a row that says so already stays. */
int snapshot_record_seen(struct control *ctl, const char *id, bool there,
    struct err *e) MUST_CHECK;

/* Its files were needed, and are not there.  Best effort. */
void snapshot_missed(struct control *ctl, const struct snapshot_ref *ref);

#endif
