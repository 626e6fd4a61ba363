/*
 * snapshot_ref.h: names the files of a snapshot, and records whether they
 * exist.
 *
 * This is the part of snapshots that a start needs.  snapshot_control.h takes
 * and removes them, which may start a session.
 */
#ifndef SANDLEASE_CONTROL_SNAPSHOT_REF_H
#define SANDLEASE_CONTROL_SNAPSHOT_REF_H

#include "control/control.h"
#include "provider/provider.h"

/* The reference to a snapshot of that tenant.  An empty id stays empty. */
void snapshot_of(const char *tenant, const char *id, struct snapshot_ref *out);

/*
 * Records whether the snapshot's files exist; a row that says so already stays.
 */
int snapshot_record_seen(struct control *ctl, const char *id, bool there,
    struct err *e) MUST_CHECK;

/*
 * Records that a start needed the snapshot's files and found none.  Best
 * effort.
 */
void snapshot_missed(struct control *ctl, const struct snapshot_ref *ref);

#endif
