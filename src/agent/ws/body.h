/*
 * body.h: the body of a request on /ws, as the routes read it.
 *
 * Most are JSON.  Those of files/ and archive/ are bytes, which a message has as a
 * string: text, or base64 if its `encoding` says so.  What the bodies of all
 * requests hold is bounded: a large one waits until others have been read.
 */
#ifndef SANDLEASE_AGENT_WS_BODY_H
#define SANDLEASE_AGENT_WS_BODY_H

#include <sys/types.h>

#include "agent/ws/request.h"

struct ws_body {
	struct buf text;           /* the body, and what is around it */
	struct bigjson_value left; /* where in there, what is not read yet */
	size_t held;               /* bytes that count for the bound */
};

/*
 * Takes the body out of the request, and over the message it was read from if it
 * is still in there.  False when it should be bytes and is not.
 */
bool ws_body_take(struct ws_body *b, struct ws_request *r, struct buf *message,
    bool bytes);

/* 0 at its end. */
ssize_t ws_body_read(struct ws_body *b, char *to, size_t max);
void ws_body_free(struct ws_body *b);

#endif
