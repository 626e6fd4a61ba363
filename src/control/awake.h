/*
 * awake.h: whether somebody works in a session, as its wrapper knows.
 *
 * Rows know the calls that passed `auth`; only the wrapper knows what runs,
 * which streams are open and when the last byte passed a port.
 */
#ifndef SANDLEASE_CONTROL_AWAKE_H
#define SANDLEASE_CONTROL_AWAKE_H

#include "control/control.h"

/*
 * Asks.  No wrapper, no work (all zero, relay_idle_ms -1); one that is there
 * and does not answer is an error: it could not be told.
 */
int awake_ask(struct control *ctl, const struct session_row *s,
    struct agent_status *out, struct err *e) MUST_CHECK;

/* A question to one of several that are asked at once. */
struct awake_question {
	struct agent_target target;
	bool answered; /* else e says why not */
	struct err e;
	struct agent_status status;
};

/*
 * Asks the wrappers of several sessions at once, within the time that one may
 * take.
 */
void awake_ask_all(struct control *ctl, struct awake_question *const *who,
    size_t count);

/*
 * The same with the processor time they have used; and whether the init of
 * their sandbox answers, which has no status.  Whoever is slow is waited for
 * once, for wait_ms.
 */
typedef void awake_ask_fn(struct control *ctl, int64_t wait_ms,
    struct awake_question *const *who, size_t count);
awake_ask_fn awake_ask_usage, awake_ask_init;

/*
 * Of a question that failed: the wrapper is there and did not say.  Any other
 * failure means that there is no wrapper, and so no work.
 */
bool awake_is_unknown(const struct err *e);

/*
 * For a session whose idle time is over and whose wrapper last did something
 * idle_ms ago: if the row does not know of that, it counts as activity now,
 * and *spared says whether sleep has moved away.
 */
int awake_was_active(struct control *ctl, const char *session,
    int64_t generation, int64_t idle_ms, bool *spared, struct err *e)
    MUST_CHECK;

/* Adds what was asked to why it is alive, {"because": [...]}. */
void awake_explain(const struct agent_status *st, int64_t sleep_after_seconds,
    json_t *alive);

#endif
