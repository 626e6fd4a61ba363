/*
 * error.h: renders an error in the format of the API that the client used.
 *
 * Logs the details for the operator and hides them from the client.
 */
#ifndef SANDLEASE_API_ERROR_H
#define SANDLEASE_API_ERROR_H

#include "web/call.h"

/* /v1: problem+json, with the members of `more` (may be NULL) in it. */
void error_render_native(struct call *c, struct err *e, const json_t *more);

/*
 * The data plane of a session, in the format of the SDKs.  All temporary errors
 * have one code there (CONTAINER_UNAVAILABLE); `reason` tells them apart.
 */
void error_render_container(struct call *c, struct err *e,
    enum err_code reason);

/* A preview: an HTML page for a browser, JSON for other clients. */
void error_render_preview(struct call *c, struct err *e);

#endif
