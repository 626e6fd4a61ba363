/*
 * dress.h: a failure, told as the surface that was asked tells it.
 *
 * Logs what the operator must know and hides it from the caller.
 */
#ifndef SANDLEASE_API_DRESS_H
#define SANDLEASE_API_DRESS_H

#include "web/call.h"

/* /v1 */
void dress_native(struct call *c, struct err *e);
/* With more members in the document. */
void dress_native_with(struct call *c, struct err *e, const json_t *more);

/*
 * The data plane of a session.  Everything that will pass is one code to the
 * SDKs; `reason` is what they are told of it.
 */
void dress_container(struct call *c, struct err *e, enum err_code reason);

/* In a preview's place: a page for a person, JSON for a program. */
void dress_preview(struct call *c, struct err *e);

#endif
