/*
 * sse.h: writes server-sent events: each is a line `data: <json>` and an empty
 * line.
 */
#ifndef SANDLEASE_WEB_SSE_H
#define SANDLEASE_WEB_SSE_H

#include <stdbool.h>

#include "common/json.h"
#include "web/call.h"

enum { SSE_HEARTBEAT_MS = 15000 };

void sse_begin(struct call *c);

/* Sends and flushes one event.  -1 when the client has gone. */
int sse_event(struct call *c, const json_t *data);

/* Sends a comment, which clients ignore.  -1 when the client has gone. */
int sse_heartbeat(struct call *c);

/*
 * Waits until the eventfd `fd` (-1: none) is written to, but at most `ms`
 * milliseconds.  With `ms` < 0 it waits at most SSE_HEARTBEAT_MS and then sends
 * a heartbeat.  False when the client has gone.
 */
bool sse_wait(struct call *c, int fd, int ms);

#endif
