/*
 * suspend.h: puts sessions to sleep with all memory, where the machine can.
 *
 * The lease stays with its wrapper, whose cell is frozen; the session is asleep
 * all the same.  A session that cannot be frozen, or does not answer after its
 * thaw, is stopped as always.
 */
#ifndef SANDLEASE_CONTROL_SUSPEND_H
#define SANDLEASE_CONTROL_SUSPEND_H

#include "control/control.h"

/*
 * Puts a ready session to sleep by freezing it, or stops it if it cannot be
 * frozen.  seen_activity < 0: in any case; else dropped if the activity counter
 * has moved.  Read the session for the result.  If another host has the
 * sandbox, its reaper freezes it.
 */
int suspend_session(struct control *ctl, const char *session,
    const char *reason, int64_t seen_activity, struct err *e) MUST_CHECK;

/*
 * Finishes a freeze or a thaw whose worker died: the session is frozen, again.
 */
int suspend_repair(struct control *ctl, const char *session, struct err *e)
    MUST_CHECK;

/*
 * Thaws a suspended session and proves it by a command.  If it does not answer,
 * its stop is requested, and "lease_changed" tells the caller to start over.
 */
int suspend_resume(struct control *ctl, const char *session, struct err *e)
    MUST_CHECK;

#endif
