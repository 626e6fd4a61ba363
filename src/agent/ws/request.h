/*
 * request.h: parses one message of a client on /ws.  Pure.
 *
 * {type:"request",id,method,path,body?,headers?} or {type:"cancel",id}.
 */
#ifndef SANDLEASE_AGENT_WS_REQUEST_H
#define SANDLEASE_AGENT_WS_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/base/bigjson.h"
#include "common/err.h"
#include "common/json.h"
#include "common/str.h"

enum {
	WS_ID_MAX = 256,
	WS_METHOD_MAX = 16,
	WS_PATH_MAX = 4096,
	WS_PARSED_MAX = 1024 * 1024
};

struct ws_request {
	json_t *msg; /* owned; the borrowed pointers below point into it */
	bool cancel; /* then only the id is set */
	const char *id, *method;
	const char *raw;                /* path and query, as they were sent */
	char *path;                     /* owned; decoded, without the query */
	const char *query;              /* "" when there is none */
	const json_t *body;             /* NULL: none, or not parsed */
	struct bigjson_value body_text; /* place of an unparsed body in text */
	const json_t *headers;          /* NULL: none */
};

/*
 * The body of a message above WS_PARSED_MAX bytes is not parsed, because the
 * parsed form takes several times its memory; the route parses it.
 *
 * The code of an error is CODE_PARSE_ERROR or CODE_INVALID_REQUEST.  out->id is
 * set also after an error, if the message has an id.  The caller calls
 * ws_request_free() in any case.
 */
int ws_request_parse(const char *text, size_t len, struct ws_request *out,
    struct err *e) MUST_CHECK;
void ws_request_free(struct ws_request *r);

/* The value of a header, "" when it is absent; ignores the case of `name`. */
const char *ws_request_header(const struct ws_request *r, const char *name);

#endif
