/*
 * request.h: what the handlers of the data plane share.
 *
 * The body of a call, read within bounds, and the context that its error
 * shows (contracts of the container: path and operation of a file, command,
 * session).
 */
#ifndef SANDLEASE_AGENT_API_REQUEST_H
#define SANDLEASE_AGENT_API_REQUEST_H

#include "agent/base/bigjson.h"
#include "agent/shell/shell.h"
#include "common/err.h"
#include "common/json.h"
#include "web/call.h"

/* Of a body that is refused: so much is read all the same. */
enum { REQUEST_SKIP_MAX = 256 * 1024 * 1024 };

/* call.context of every call here. */
struct api_request {
	json_t *context;    /* owned; shown with an error, NULL: {} */
	const char *fields; /* of its route's body; NULL: not looked at */
	json_t *ignored;    /* owned; members that the route does not know */
	int64_t body_bytes; /* of a body that was too large */
};

/* Replaces the context by `context`, which is taken over. */
void request_context(struct call *c, json_t *context);

/*
 * The body as an object without its null members.  Nesting is bounded before
 * it is parsed: the threads here have small stacks.  Members that the route
 * does not know are told by the answer (`ignored`, X-Ignored-Fields), because
 * clients of other releases send some; a limit of time is refused, because to
 * go without it would be a surprise.
 */
int request_body(struct call *c, size_t max, json_t **out, struct err *e)
    MUST_CHECK;

/*
 * The same for a body with one large string, the member `name`: that is not
 * in *out, and *value says where it stands in *text, decoded.  When value->at is
 * 0 it was not found so, and *out has whatever there is.
 */
int request_large_body(struct call *c, size_t max, const char *name,
    struct buf *text, struct bigjson_value *value, json_t **out, struct err *e)
    MUST_CHECK;

/* The required string member `name`, borrowed; no NUL, min..max bytes. */
int request_text(const json_t *body, const char *name, size_t min, size_t max,
    const char **out, struct err *e) MUST_CHECK;

/* Which shell the call means: body, header, query, else `default`. */
int request_shell(struct call *c, const json_t *body, char out[SHELL_NAME_MAX],
    struct err *e) MUST_CHECK;

/* Writes bytes of any origin as the inside of a JSON string. */
void request_write_text(struct call *c, const char *data, size_t len);

/* Appends `,"ignored":[...]` to an object's text, if there are any. */
void request_add_ignored(struct call *c, struct buf *to);

/*
 * If the session is ending: sends the last event of a stream with the reason,
 * and whatever members `more` (taken, may be NULL) has; and says true.
 */
bool request_session_end(struct call *c, json_t *more);

/* Bytes of any origin as a JSON string. */
json_t *request_string(const char *data, size_t len);

#endif
