/*
 * error.h: renders an error in the format of the API that the client used.
 *
 * Logs what the operator must know and hides it from the caller.
 */
#ifndef SANDLEASE_API_ERROR_H
#define SANDLEASE_API_ERROR_H

#include "web/call.h"

/* /v1: problem+json, with the members of `more` (may be NULL) in it. */
void error_render_native(struct call *c, struct err *e, const json_t *more);

/*
 * The data plane of a session, as SDKs read it.  Everything that will pass is
 * one code to them; `reason` is what they are told of it.
 */
void error_render_container(struct call *c, struct err *e,
    enum err_code reason);

/* In a preview's place: a page for a person, JSON for a program. */
void error_render_preview(struct call *c, struct err *e);

#endif
