/*
 * reply.h: an error in the format of the API that the client used.
 *
 * native: application/problem+json of /v1.  container: the shape the
 * Cloudflare SDK expects on a session's data plane, also for refusals that
 * are made before the wrapper is asked.  preview: in a preview's place.
 */
#ifndef SANDLEASE_WEB_REPLY_H
#define SANDLEASE_WEB_REPLY_H

#include "common/err.h"
#include "common/json.h"
#include "web/call.h"

/*
 * {type, title, status, detail, code, retryable, traceId, errors}, the members
 * of `more` (may be NULL) and what the error has in its own `more`; its
 * retryAfter becomes the header.
 */
void reply_problem(struct call *c, const struct err *e, const json_t *more);

/*
 * {"success": true, ...more, "timestamp"}: how the container says that it is
 * done.  Takes over `more`; 0, for a handler to return.
 */
int reply_container(struct call *c, json_t *more);
/* The same with another status than 200. */
int reply_container_as(struct call *c, int status, json_t *more);

/*
 * {code, message, error, context, httpStatus, timestamp}; `code` is
 * in capitals and `context` (may be NULL) stays the caller's.  A field that
 * was wrong is named in the message and in context.validationErrors.  A hint
 * for people, `suggestion` in the context, stands beside the context.
 */
void reply_container_error(struct call *c, const struct err *e,
    const json_t *context);

/*
 * The same for proxy/{port}, whose callers look for `error`, one of a few
 * words, and `port`.
 */
void reply_proxy_error(struct call *c, const struct err *e, const char *error,
    const char *port);

/* {error, code}: what the caller of a preview understands. */
void reply_preview_error(struct call *c, const struct err *e);

/*
 * The same for a person: `html` is markup.  If a repetition may help the page
 * loads itself again, and says so.
 */
void reply_preview_page(struct call *c, const struct err *e, const char *title,
    const char *html);

#endif
