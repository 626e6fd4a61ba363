/*
 * ws_events.h: an event stream, taken apart again.
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
	/* NULL name: it has none.  A comment is an event without data. */
	int (*event)(void *ctx, const char *name, const char *data, size_t len);
	void *ctx;
};

/* The next bytes; -1 as soon as event() says so. */
int ws_events_feed(struct ws_events *s, const char *data, size_t len);
void ws_events_free(struct ws_events *s);

#endif
