/*
 * session_problem.h: a refusal that has a session to tell of.
 */
#ifndef SANDLEASE_API_V1_SESSION_PROBLEM_H
#define SANDLEASE_API_V1_SESSION_PROBLEM_H

#include "api/app.h"

/*
 * Answers with the problem document of `e`, in which `session` says which one it
 * is about and what has become of it, and `setup` how its setup ended if that
 * was the reason.  0: it is answered; -1: the session cannot be read, and `e` is
 * the caller's to tell.
 */
int session_problem(struct call *c, struct control *ctl, const char *id,
    struct err *e) MUST_CHECK;

/*
 * The same for an Idempotency-Key whose session, `s` as the API shows it, is of
 * no use any more.  *told is false, and nothing is answered, when it is.
 */
int session_problem_replayed(struct call *c, struct control *ctl,
    const json_t *s, bool *told, struct err *e) MUST_CHECK;

#endif
