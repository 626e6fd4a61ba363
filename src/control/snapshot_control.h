/*
 * snapshot_control.h: taking snapshots, and removing them.
 *
 * A row first, then the files, then the row again.  Whoever comes by one that
 * is being taken looks what became of it, so that no worker has to wait.  One
 * that is deleted is seen by nobody from then on; its files go when no session
 * that is made of it needs them any more.
 */
#ifndef SANDLEASE_CONTROL_SNAPSHOT_CONTROL_H
#define SANDLEASE_CONTROL_SNAPSHOT_CONTROL_H

#include "control/control.h"

/*
 * Takes one of a session, which is woken for it and goes on meanwhile.
 * Returns 0 when it is ready or goes on without us at the deadline.
 */
int snapshot_create(struct control *ctl, const char *session,
    const char *tenant, const char *name, int64_t deadline_ms, char id[ID_MAX],
    struct err *e) MUST_CHECK;

/*
 * Records what has become of one that is being taken; `overdue`: it should
 * have begun by now.
 */
int snapshot_settle(struct control *ctl, const char *tenant, const char *id,
    bool overdue, struct err *e) MUST_CHECK;

/*
 * Looks for the files of one that is ready, or lost, and corrects its row: it is
 * lost while they are not there.  Nothing happens to one of another host.
 */
int snapshot_verify(struct control *ctl, const char *tenant, const char *id,
    struct err *e) MUST_CHECK;

/* The wish, and what can be done of it at once; session "": of any. */
int snapshot_delete(struct control *ctl, const char *session,
    const char *tenant, const char *id, struct err *e) MUST_CHECK;

/* Removes the files of one that is deleted and free, then its row. */
int snapshot_finish(struct control *ctl, const char *tenant, const char *id,
    struct err *e) MUST_CHECK;

#endif
