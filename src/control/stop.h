/*
 * stop.h: stops sessions, and verifies that they are gone.
 *
 * The stop request is persisted before anything is killed.  Only a successful
 * look that sees nothing of the whole session releases the lease.
 */
#ifndef SANDLEASE_CONTROL_STOP_H
#define SANDLEASE_CONTROL_STOP_H

#include "control/control.h"

/* The state that the stop leads to: asleep, deleted or failed. */
enum stop_kind { STOP_SLEEP, STOP_DELETE, STOP_FAIL };

/*
 * Persists a stop request.  `reason` is a word of the lease, `say` (may be
 * NULL) is the session's reason for people.  seen_activity < 0: in any case;
 * else the request is dropped if the activity counter has moved.
 */
int stop_request(struct control *ctl, const char *session, enum stop_kind kind,
    const char *reason, const char *say, int64_t seen_activity, struct err *e)
    MUST_CHECK;

/*
 * Persists that this generation's start has failed, why, and the steps it came
 * to (an array; taken over; may be NULL).  Dropped if another generation has
 * begun meanwhile: a late outcome must not end it.
 */
int stop_failed_start(struct control *ctl, const char *session,
    int64_t generation, const char *reason, const char *say, json_t *steps,
    struct err *e) MUST_CHECK;

/*
 * Makes one attempt to stop, if one is due: a wave of one (wave.h).  Success
 * means the attempt's outcome was recorded, not that the wrapper is gone: read
 * the session.
 */
int stop_attempt(struct control *ctl, const char *session, struct err *e)
    MUST_CHECK;

/*
 * The same for a caller that waits until deadline_ms.  An attempt waits for a
 * silent init longer than most callers can.  Then the attempt is left to the
 * reaper, and this is ERR_BUSY "lease_busy".
 */
int stop_attempt_by(struct control *ctl, const struct session_row *s,
    int64_t deadline_ms, struct err *e) MUST_CHECK;

/* A session to stop, and the conditions of the request. */
struct stop_subject {
	const char *session;
	const char *seen_row;  /* xmin that its row must have; NULL: any */
	int64_t seen_activity; /* < 0: in any case */
	int64_t generation;    /* 0: any */
	bool late;             /* only while its startup deadline is over */
};

/* stop_request() for several; *changed counts those that it changed. */
int stop_request_all(struct control *ctl, const struct stop_subject *who,
    size_t count, enum stop_kind kind, const char *reason, const char *say,
    size_t *changed, struct err *e) MUST_CHECK;

/*
 * Waits while another process tries to stop the session, or until the next
 * attempt is due.  Success means that, not that the session is gone.
 */
int stop_wait(struct control *ctl, const struct session_row *s,
    int64_t deadline_ms, struct err *e) MUST_CHECK;

#endif
