/*
 * sse.h: server-sent events, each one line `data: <json>` and a blank one.
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

/* A comment that clients ignore; finds out whether one is still there. */
int sse_heartbeat(struct call *c);

/*
 * Waits until `fd`, an eventfd (-1: none), is written to or the time is over;
 * false when the client has gone.  With `ms` < 0 a heartbeat is sent after a
 * while.
 */
bool sse_wait(struct call *c, int fd, int ms);

#endif
