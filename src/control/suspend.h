/*
 * suspend.h: sleep that keeps all memory, where the machine can.
 *
 * The lease stays with its wrapper, whose cell is frozen; the session is
 * asleep all the same.  What cannot be frozen, or does not go on, is stopped
 * as always.
 */
#ifndef SANDLEASE_CONTROL_SUSPEND_H
#define SANDLEASE_CONTROL_SUSPEND_H

#include "control/control.h"

/*
 * Puts a ready session to sleep by freezing it; stops it if that cannot be.
 * seen_activity < 0: whatever came meanwhile; else dropped if the activity
 * counter has moved.  Read the session for what came of it.  Where another
 * host has the sandbox, its reaper freezes it.
 */
int suspend_session(struct control *ctl, const char *session,
    const char *reason, int64_t seen_activity, struct err *e) MUST_CHECK;

/* A freeze or a thaw that nobody finished: frozen, again. */
int suspend_repair(struct control *ctl, const char *session, struct err *e)
    MUST_CHECK;

/*
 * Lets a suspended session go on and proves it by a command.  If it does not
 * answer, its stop is asked for and "lease_changed" says: start over.
 */
int suspend_resume(struct control *ctl, const char *session, struct err *e)
    MUST_CHECK;

#endif
