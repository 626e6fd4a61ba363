/*
 * interrupt_control.h: stopping what runs in a session that goes on.
 */
#ifndef SANDLEASE_CONTROL_INTERRUPT_CONTROL_H
#define SANDLEASE_CONTROL_INTERRUPT_CONTROL_H

#include "control/control.h"

/*
 * Persists the wish, ends every running command, records the outcome; *count
 * says how many there were.  ERR_CONFLICT "session_not_ready" when nothing
 * can run.  When the wrapper does not answer, the wish stays for the reaper; so
 * it does when another host has the sandbox: *count is -1.
 */
int interrupt_session(struct control *ctl, const char *id, const char *tenant,
    int64_t *count, struct err *e) MUST_CHECK;

/*
 * The same for what runs in, or beside, one shell.  The wish is not kept: it is
 * acted on now, or it is an error, and "other_host" where the sandbox is not
 * here; the caller may ask again.
 */
int interrupt_session_shell(struct control *ctl, const char *id,
    const char *tenant, const char *shell, int64_t *count, struct err *e)
    MUST_CHECK;

/*
 * One that nobody finished, age_ms old; only commands from before it are
 * meant.  over: the wrapper it meant is gone, and so is what ran.
 */
int interrupt_finish(struct control *ctl, const char *id,
    const char *interrupt_id, int64_t age_ms, bool over, struct err *e)
    MUST_CHECK;

#endif
