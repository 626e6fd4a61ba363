/*
 * execution_give.h: gives an execution to the wrapper of its session; for
 * execution_control.c.
 */
#ifndef SANDLEASE_CONTROL_EXECUTION_GIVE_H
#define SANDLEASE_CONTROL_EXECUTION_GIVE_H

#include "control/execution_control.h"
#include "domain/attempt.h"
#include "provider/provider.h"

/* An execution as its row says. */
struct execution_row {
	char id[ID_MAX];
	char session[ID_MAX];
	char tenant[CONTROL_NAME_MAX];
	bool over; /* has ended */
	bool running;
	bool given; /* a wrapper has its attempt, or is about to */
	bool cancelled;
	int64_t attempt, generation, max_retries, concurrency;
	int64_t due_ms;    /* until its next attempt may begin */
	char *work_sealed; /* owned */
	json_t *limits;    /* owned */
	/* owned; what holds each limit, while that is not recorded */
	json_t *limits_by;
};

#define auto_execution __attribute__((cleanup(execution_row_free)))
void execution_row_free(struct execution_row *x);
int execution_row_read(struct control *ctl, const char *id,
    struct execution_row *out, struct err *e) MUST_CHECK;

/* The id of an attempt, for the agent and for its cgroups. */
struct attempt_id {
	char text[RUN_ID_MAX];
};
struct attempt_id execution_attempt_id(const struct execution_row *x);

/*
 * Gives an execution that waits to the wrapper of `s`: its next attempt or, if
 * that wrapper has one already, the same again.
 */
int execution_give(struct control *ctl, const struct session_row *s,
    const char *id, struct err *e) MUST_CHECK;

/*
 * The same of a row that was read.  x->limits_by is set if it was put: the
 * caller asks at once, and execution_told() records it with the answer.
 */
int execution_give_row(struct control *ctl, const struct session_row *s,
    struct execution_row *x, struct err *e) MUST_CHECK;

/* Whether its wrapper says that it ended without a result. */
bool execution_attempt_lost(const struct agent_attempt *a);

/*
 * Records what a wrapper says of the present attempt.  If it has ended, *rest is
 * set, and the caller tidies up.
 */
int execution_told(struct control *ctl, const struct execution_row *x,
    const struct session_row *s, const struct agent_attempt *a,
    struct execution_rest *rest, struct err *e) MUST_CHECK;

/* Records that the attempt was ended without its wrapper, at its time limit. */
int execution_overdue(struct control *ctl, const struct execution_row *x,
    struct err *e) MUST_CHECK;

/* Records that the attempt is over without a result. */
int execution_lost(struct control *ctl, const struct execution_row *x,
    const char *why, bool last, struct err *e) MUST_CHECK;

/* The same of all attempts that its generation has. */
int execution_generation_lost(struct control *ctl,
    const struct execution_row *x, const char *why, struct err *e) MUST_CHECK;

/*
 * The session cannot be started: that was an attempt of the execution.  Another
 * one follows if it may fare better.
 */
void execution_not_given(struct control *ctl, const char *id,
    const struct err *why);

#endif
