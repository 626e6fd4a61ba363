/*
 * events.h: an event stream, taken apart again.
 *
 * What a handler writes for an SSE client becomes an event at a time.  Pure.
 */
#ifndef SANDLEASE_AGENT_WS_EVENTS_H
#define SANDLEASE_AGENT_WS_EVENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/str.h"

struct ws_events {
	struct buf line, data, name;
	bool any; /* a line of data has come */
	/* NULL name: the event has none. */
	int (*event)(void *ctx, const char *name, const char *data, size_t len);
	int (*comment)(void *ctx); /* a heartbeat of the handler's */
	void *ctx;
};

/* The next bytes; -1 as soon as event() or comment() says so. */
int ws_events_feed(struct ws_events *s, const char *data, size_t len);
void ws_events_free(struct ws_events *s);

#endif
