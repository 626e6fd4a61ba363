/*
 * reply.h: renders an error in the format of the API that the client used.
 *
 * The formats are: problem, application/problem+json of /v1; container, the
 * shape that the Cloudflare SDK expects on a session's data plane, also when
 * the request is refused before it reaches the wrapper; proxy and preview, for
 * a port of a session.
 */
#ifndef SANDLEASE_WEB_REPLY_H
#define SANDLEASE_WEB_REPLY_H

#include "common/err.h"
#include "common/json.h"
#include "web/call.h"

/*
 * {type, title, status, detail, code, retryable, traceId, errors}, the members
 * of `more` (may be NULL) and those of e->more.  A retryAfter in e->more
 * becomes the header Retry-After.
 */
void reply_problem(struct call *c, const struct err *e, const json_t *more);

/*
 * {"success": true, ...more, "timestamp"}: the container's answer to a call
 * that succeeded.  Takes over `more`.  Returns 0, which a handler can return.
 */
int reply_container(struct call *c, json_t *more);
/* The same with another status than 200. */
int reply_container_as(struct call *c, int status, json_t *more);

/*
 * {code, message, error, context, httpStatus, timestamp}; `code` is in
 * capitals.  `context` (may be NULL) stays the caller's.  The field of the
 * error is named in the message and in context.validationErrors.  A member
 * `suggestion` of the context, a hint for people, moves to the top level.
 */
void reply_container_error(struct call *c, const struct err *e,
    const json_t *context);

/*
 * The same for proxy/{port}, whose clients read `error`, one of a few words,
 * and `port`.
 */
void reply_proxy_error(struct call *c, const struct err *e, const char *error,
    const char *port);

/* {error, code}: for programs that call a preview. */
void reply_preview_error(struct call *c, const struct err *e);

/*
 * The same for a person; `html` is markup.  If a retry may help, the page
 * reloads itself and says so.
 */
void reply_preview_page(struct call *c, const struct err *e, const char *title,
    const char *html);

#endif
