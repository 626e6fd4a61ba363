/*
 * start.h: from an intent to a wrapper that answers.
 */
#ifndef SANDLEASE_CONTROL_START_H
#define SANDLEASE_CONTROL_START_H

#include "control/control.h"

struct launch; /* launch.h */

/*
 * Acts on a committed intent (a start_plan row) and records the outcome.  A
 * failure is recorded too (the session is failed and says why), unless
 * start_undecided() says that the next request or pass goes on with it.
 * `alone`: nobody else can know of session or sandbox yet.
 */
int start_act(struct control *ctl, const struct rows *plan, bool alone,
    int64_t deadline_ms, struct err *e) MUST_CHECK;

/* What is left when there is a wrapper with its files: setup, proof, outcome. */
int start_complete(struct control *ctl, struct launch *l, int64_t deadline_ms,
    struct err *e) MUST_CHECK;

/* Records that this life of the session has failed, why, and ends it.  -1. */
int start_end(struct control *ctl, const struct launch *l, const struct err *e);

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

/* The sandbox's init has gone, or another life has begun: look again. */
bool start_worth_retry(const struct err *e);

/* Whether a start that returned this error may still come to be. */
bool start_undecided(const struct err *e);

/* Whether a setup is what the start waits for. */
bool start_setup_running(const struct err *e);

/* Whether it was the session's setup that failed: its row has the output. */
bool start_setup_failed(const struct err *e);

/* The last wrapper has not been seen gone, and nothing was begun after it. */
bool start_must_wait(const struct err *e);

/* What every intent carries: fresh instance and incarnation, host, boot. */
json_t *start_intent(struct control *ctl);

#endif
