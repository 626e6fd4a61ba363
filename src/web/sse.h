/*
 * sse.h: server-sent events, each one line `data: <json>` and a blank one.
 */
#ifndef SANDLEASE_WEB_SSE_H
#define SANDLEASE_WEB_SSE_H

#include "common/json.h"
#include "web/call.h"

enum { SSE_HEARTBEAT_MS = 15000 };

void sse_begin(struct call *c);

/* Sends and flushes one event.  -1 when the client has gone. */
int sse_event(struct call *c, const json_t *data);

/* A comment that clients ignore; finds out whether one is still there. */
int sse_heartbeat(struct call *c);

#endif
