/*
 * snapshot_control.h: takes, checks and removes snapshots.
 *
 * A row is written first, then the files, then the row again.  Any request or
 * pass that meets a snapshot that is being taken looks how far it is, so that
 * no worker has to wait.  A deleted snapshot is invisible from then on; its
 * files go when no session that is made of it needs them any more.
 */
#ifndef SANDLEASE_CONTROL_SNAPSHOT_CONTROL_H
#define SANDLEASE_CONTROL_SNAPSHOT_CONTROL_H

#include "control/control.h"

/*
 * Takes a snapshot of a session, which is woken for it and goes on meanwhile.
 * Returns 0 if the snapshot is ready, or still being taken at the deadline.
 */
int snapshot_create(struct control *ctl, const char *session,
    const char *tenant, const char *name, int64_t deadline_ms, char id[ID_MAX],
    struct err *e) MUST_CHECK;

/*
 * Records the state of a snapshot that is being taken; `overdue`: it should
 * have begun by now.
 */
int snapshot_settle(struct control *ctl, const char *tenant, const char *id,
    bool overdue, struct err *e) MUST_CHECK;

/*
 * Looks for the files of a ready or lost snapshot, and corrects its row: it is
 * lost while the files are not there.  Nothing happens to one of another host.
 */
int snapshot_verify(struct control *ctl, const char *tenant, const char *id,
    struct err *e) MUST_CHECK;

/*
 * Marks a snapshot as deleted, and removes what can go at once; session "": of
 * any session.
 */
int snapshot_delete(struct control *ctl, const char *session,
    const char *tenant, const char *id, struct err *e) MUST_CHECK;

/*
 * Removes the files of a deleted snapshot that no session needs, then its row.
 */
int snapshot_finish(struct control *ctl, const char *tenant, const char *id,
    struct err *e) MUST_CHECK;

#endif
