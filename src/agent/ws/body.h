/*
 * body.h: gives the routes the body of a request on /ws.
 *
 * Most bodies are JSON.  Those for files/ and archive/ are bytes, which a
 * message has as a string: text, or base64 if its `encoding` says so.  The
 * memory of all bodies is bounded: a large body waits until others are read.
 */
#ifndef SANDLEASE_AGENT_WS_BODY_H
#define SANDLEASE_AGENT_WS_BODY_H

#include <sys/types.h>

#include "agent/ws/request.h"

struct ws_body {
	struct buf text;           /* the body, or the message around it */
	struct bigjson_value left; /* the unread part of text */
	size_t held;               /* bytes that count for the bound */
};

/*
 * Moves the body out of the request.  Takes over `message` too, if the body was
 * not parsed and is still in there.  False when `bytes` is set and the body is
 * not a valid string.
 */
bool ws_body_take(struct ws_body *b, struct ws_request *r, struct buf *message,
    bool bytes);

/* Returns the bytes read, 0 at the end. */
ssize_t ws_body_read(struct ws_body *b, char *to, size_t max);
void ws_body_free(struct ws_body *b);

#endif
