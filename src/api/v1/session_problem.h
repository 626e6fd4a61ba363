/*
 * session_problem.h: answers with an error that describes a session.
 */
#ifndef SANDLEASE_API_V1_SESSION_PROBLEM_H
#define SANDLEASE_API_V1_SESSION_PROBLEM_H

#include "api/app.h"

/*
 * Answers with the problem document of `e`.  Its member `session` has id, name
 * and state of the session, and `setup` the result of a setup that failed.  0:
 * the call is answered.  -1: the session cannot be read, and the caller must
 * answer with `e`.
 */
int session_problem(struct call *c, struct control *ctl, const char *id,
    struct err *e) MUST_CHECK;

/*
 * The same for a replayed Idempotency-Key, if its session `s` (as the API shows
 * it) is deleted, being deleted or failed.  Else *told is false, and the call
 * is not answered.
 */
int session_problem_replayed(struct call *c, struct control *ctl,
    const json_t *s, bool *told, struct err *e) MUST_CHECK;

#endif
