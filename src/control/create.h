/*
 * create.h: registers sessions, for session_control.h and for executions that
 * bring their own.
 */
#ifndef SANDLEASE_CONTROL_CREATE_H
#define SANDLEASE_CONTROL_CREATE_H

#include "control/session_control.h"

/*
 * Registers a session, or finds one that can serve; *plan is the row of
 * STMT_SESSION_CREATE.  `execution`: the spec of an execution that is recorded
 * with it, or NULL; the row is then that of STMT_EXECUTION_START.  *alone: no
 * other process can know of the session.
 */
int create_register(struct control *ctl, const struct principal *who,
    const struct session_options *w, const char *execution, struct rows **plan,
    bool *alone, struct err *e) MUST_CHECK;

/* The disposition of a plan by its word. */
enum disposition create_disposition(const char *word);

#endif
