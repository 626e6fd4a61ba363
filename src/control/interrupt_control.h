/*
 * interrupt_control.h: ends the commands in a session that itself goes on.
 */
#ifndef SANDLEASE_CONTROL_INTERRUPT_CONTROL_H
#define SANDLEASE_CONTROL_INTERRUPT_CONTROL_H

#include "control/control.h"

/*
 * Writes the request, ends every running command, records the outcome; *count
 * is the number of commands.  ERR_CONFLICT "session_not_ready" if nothing can
 * run.  If the wrapper does not answer, the request stays for the reaper.  If
 * another host has the sandbox, it stays for that host's reaper, and *count is
 * -1.
 */
int interrupt_session(struct control *ctl, const char *id, const char *tenant,
    int64_t *count, struct err *e) MUST_CHECK;

/*
 * The same for commands in, or beside, one shell.  This request is not kept: it
 * is carried out now or fails, with "other_host" if the sandbox is not here.
 * The caller may ask again.
 */
int interrupt_session_shell(struct control *ctl, const char *id,
    const char *tenant, const char *shell, int64_t *count, struct err *e)
    MUST_CHECK;

/*
 * Completes an interruption, age_ms old, that its worker did not finish.  It
 * ends only commands that were started before the interruption.  over: the
 * wrapper is gone, and its commands with it.
 */
int interrupt_finish(struct control *ctl, const char *id,
    const char *interrupt_id, int64_t age_ms, bool over, struct err *e)
    MUST_CHECK;

#endif
