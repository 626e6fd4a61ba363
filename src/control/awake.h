/*
 * awake.h: asks the wrapper of a session whether the session is in use.
 *
 * The rows know only the calls that passed `auth`.  Only the wrapper knows
 * which commands run, which streams are open and when the last byte passed a
 * port.
 */
#ifndef SANDLEASE_CONTROL_AWAKE_H
#define SANDLEASE_CONTROL_AWAKE_H

#include "control/control.h"

/*
 * Asks the wrapper of session `s`.  Without a wrapper there is no work: *out is
 * all zero, with relay_idle_ms -1.  A wrapper that exists and does not answer
 * is an error, because it may have work.
 */
int awake_ask(struct control *ctl, const struct session_row *s,
    struct agent_status *out, struct err *e) MUST_CHECK;

/* A question to one of several wrappers that are asked at once. */
struct awake_question {
	struct agent_target target;
	bool answered; /* else e says why not */
	struct err e;
	struct agent_status status;
};

/*
 * Asks the wrappers of several sessions at once.  All answers together take no
 * longer than one question may take.
 */
void awake_ask_all(struct control *ctl, struct awake_question *const *who,
    size_t count);

/*
 * awake_ask_usage() also asks for the processor time that each session has
 * used.  awake_ask_init() asks whether the init of each sandbox answers; init
 * sends no status.  Both wait at most wait_ms in all, however many do not
 * answer.
 */
typedef void awake_ask_fn(struct control *ctl, int64_t wait_ms,
    struct awake_question *const *who, size_t count);
awake_ask_fn awake_ask_usage, awake_ask_init;

/*
 * Whether the question failed although the wrapper exists.  Any other failure
 * means that there is no wrapper, and so no work.
 */
bool awake_is_unknown(const struct err *e);

/*
 * For a session whose idle time is over and whose wrapper was last active
 * idle_ms ago.  If the row does not know of that activity, it is written now.
 * *spared: the idle date is in the future again, so the session must not sleep
 * yet.
 */
int awake_was_active(struct control *ctl, const char *session,
    int64_t generation, int64_t idle_ms, bool *spared, struct err *e)
    MUST_CHECK;

/*
 * Adds reasons from the wrapper's status to `alive`, {"because": [...]}, which
 * says why the session is awake.
 */
void awake_explain(const struct agent_status *st, int64_t sleep_after_seconds,
    json_t *alive);

#endif
