/*
 * request.h: reads the body of a call within limits, and keeps the request
 * context that handlers share.
 *
 * The context is shown with an error.  The contract with SDKs says what it
 * holds: path and operation of a file, command, session.
 */
#ifndef SANDLEASE_AGENT_API_REQUEST_H
#define SANDLEASE_AGENT_API_REQUEST_H

#include "agent/base/bigjson.h"
#include "agent/shell/shell.h"
#include "common/err.h"
#include "common/json.h"
#include "web/call.h"

/* How much of a refused body is read and discarded: see call_skip_body(). */
enum { REQUEST_SKIP_MAX = 256 * 1024 * 1024 };

/* The request context: call.context of every call in this room. */
struct api_request {
	json_t *context;    /* owned; shown with an error, NULL: {} */
	const char *fields; /* members of the body; NULL: not checked */
	json_t *ignored;    /* owned; members that the route does not know */
	int64_t body_bytes; /* size of a body that was too large */
};

/* Replaces the context of errors by `context`; takes ownership. */
void request_context(struct call *c, json_t *context);

/*
 * Reads the body as an object and drops its null members.  The nesting is
 * checked before parsing, because threads of the wrapper have small stacks.
 * Members that the route does not know are ignored, because clients of other
 * releases send some; the answer names them (`ignored`, X-Ignored-Fields).  But
 * a route that has a time limit refuses an unknown member "timeout...": a
 * command without the limit would run longer than the client expects.
 */
int request_body(struct call *c, size_t max, json_t **out, struct err *e)
    MUST_CHECK;

/*
 * The same for a body with one large string, the member `name`.  The string is
 * not in *out: *value says where it is in *text, decoded.  If value->at is 0
 * there is no such string, and *out has the whole body.
 */
int request_large_body(struct call *c, size_t max, const char *name,
    struct buf *text, struct bigjson_value *value, json_t **out, struct err *e)
    MUST_CHECK;

/* Reads the required string member `name`; no NUL, min..max bytes; borrowed. */
int request_text(const json_t *body, const char *name, size_t min, size_t max,
    const char **out, struct err *e) MUST_CHECK;

/* Reads the name of the shell from body, header or query; else `default`. */
int request_shell(struct call *c, const json_t *body, char out[SHELL_NAME_MAX],
    struct err *e) MUST_CHECK;

/*
 * Appends the bytes that the member `data` stands for: text or base64, as the
 * member `encoding` says ("utf-8", "utf8", "base64"; by default "utf-8").
 */
int request_decode_data(const json_t *body, struct buf *out, struct err *e)
    MUST_CHECK;

/* Writes any bytes as the inside of a JSON string. */
void request_write_text(struct call *c, const char *data, size_t len);

/* Appends `,"ignored":[...]` to an object's text, if members were ignored. */
void request_add_ignored(struct call *c, struct buf *to);

/*
 * If the session is ending: sends the last event of a stream, with the reason
 * and the members of `more` (may be NULL), and returns true.  Takes ownership
 * of `more`.
 */
bool request_session_end(struct call *c, json_t *more);

#endif
