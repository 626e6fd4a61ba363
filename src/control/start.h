/*
 * start.h: gives a session a wrapper that answers.
 *
 * It looks for a wrapper.  It proves the one that it finds, has the next
 * generation launched (launch.h), or refuses.  outcome.h records how a launch
 * ends.
 */
#ifndef SANDLEASE_CONTROL_START_H
#define SANDLEASE_CONTROL_START_H

#include "control/control.h"
#include "control/start_error.h"

/*
 * Gives a session a wrapper that answers, from any state: reuses the one that
 * it has, else starts the next generation.
 */
int start_session(struct control *ctl, const char *session, const char *tenant,
    int64_t deadline_ms, struct err *e) MUST_CHECK;

/*
 * The same for a start that was begun and has not ended: ERR_CONFLICT
 * "start_stopped" if the session was put to sleep meanwhile.
 */
int start_finish(struct control *ctl, const char *session, const char *tenant,
    int64_t deadline_ms, struct err *e) MUST_CHECK;

/*
 * Releases the start lock of an intent (STMT_SESSION_CREATE, _RESTART) that was
 * refused with `e`.  `warm`: its session may be another, a member of the warm
 * pool; then every lock of the connection is released, so a caller holds none.
 */
void start_refused(struct control *ctl, const char *session, bool warm,
    const struct err *e);

/* Whether a process is working on the session's start right now. */
bool start_under_way(struct control *ctl, const char *session);

/*
 * Goes on with a start that no process is working on, without waiting for its
 * setup; tenant "" means any.  False: a process is working on it.
 */
bool start_move_on(struct control *ctl, const char *session,
    const char *tenant);

/*
 * The members that every intent to start has: new instance and incarnation,
 * host, boot.
 */
json_t *start_intent(struct control *ctl);

#endif
