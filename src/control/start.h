/*
 * start.h: decides what a session needs to have a wrapper that answers.
 *
 * It looks at what is there, and proves it, has the next generation launched
 * (launch.h), or refuses.  How a launch ends is outcome.h's.
 */
#ifndef SANDLEASE_CONTROL_START_H
#define SANDLEASE_CONTROL_START_H

#include "control/control.h"
#include "control/start_error.h"

/*
 * Brings a session to a wrapper that answers, from whatever state it is in:
 * reuses what is there, else starts the next generation.
 */
int start_session(struct control *ctl, const char *session, const char *tenant,
    int64_t deadline_ms, struct err *e) MUST_CHECK;

/*
 * The same for a start that was begun and has not ended: ERR_CONFLICT
 * "start_stopped" when somebody has put the session to sleep meanwhile.
 */
int start_finish(struct control *ctl, const char *session, const char *tenant,
    int64_t deadline_ms, struct err *e) MUST_CHECK;

/*
 * An intent that was refused (STMT_SESSION_CREATE, _RESTART) leaves no start
 * lock behind.
 */
void start_refused(struct control *ctl, const char *session,
    const struct err *e);

/* Whether somebody is at work on its start right now. */
bool start_under_way(struct control *ctl, const char *session);

/*
 * Goes on with a start that nobody is at work on just now, without waiting for
 * its setup; tenant "" is the reaper.  False: somebody is.
 */
bool start_move_on(struct control *ctl, const char *session,
    const char *tenant);

/* What every intent carries: fresh instance and incarnation, host, boot. */
json_t *start_intent(struct control *ctl);

#endif
