/* execution_call.h: steps that the calls of executions share. */
#ifndef SANDLEASE_API_V1_EXECUTION_CALL_H
#define SANDLEASE_API_V1_EXECUTION_CALL_H

#include "api/app.h"
#include "api/v1/execution_body.h"

/* Reads the client's execution `id` (STMT_EXECUTION_GET). */
int execution_read_own(struct call *c, const char *id, struct rows **r,
    struct err *e) MUST_CHECK;

/* The same, after its wrapper was asked whether it has ended. */
int execution_read_now(struct call *c, struct control *ctl, const char *id,
    struct rows **r, struct err *e) MUST_CHECK;

/*
 * Reads ?wait=; *until_ms is 0 if too many calls wait already: the answer then
 * has Retry-After.
 */
int execution_read_wait(struct call *c, int64_t *until_ms, struct err *e)
    MUST_CHECK;

/*
 * Whether this call may ask the execution's wrapper or send much: not if its org
 * holds its share of the workers, or the wrapper did not answer just now.
 */
bool execution_may_ask(struct call *c, const struct rows *r);
/* Remembers that the wrapper did not answer. */
void execution_note_mute(struct call *c, const struct rows *r,
    const struct err *e);

/* The same for a call that has no other answer: 503. */
int execution_may_send(struct call *c, struct err *e) MUST_CHECK;

/* Sets the profile's command if the body of a run brings none. */
int execution_read_command(struct call *c, struct execution_body *b,
    struct err *e) MUST_CHECK;

#endif
