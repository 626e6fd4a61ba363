/*
 * sse.h: reading server-sent events.
 *
 * Bytes go in as they come, cut anywhere; events come out whole.  Lines end by
 * LF, CR or both; of an event its data and the last id are kept.
 */
#ifndef SANDLEASE_CLI_SSE_H
#define SANDLEASE_CLI_SSE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/str.h"

enum { SSE_ID_MAX = 64, SSE_EVENT_MAX = 8 * 1024 * 1024 };

/* Called with an event's data, NUL-terminated; false ends the reading. */
typedef bool sse_fn(void *ctx, const char *data, size_t len);

/* Start with { .emit = ..., .ctx = ... }. */
struct sse {
	sse_fn *emit;
	void *ctx;
	char id[SSE_ID_MAX]; /* of the last event that had one, "" before */
	char next_id[SSE_ID_MAX]; /* of the one that is being read */
	struct buf line;
	struct buf data;
	bool has_data;
	bool after_cr;
};

/* False when emit said so, or an event is longer than SSE_EVENT_MAX. */
bool sse_feed(struct sse *s, const char *bytes, size_t len);

/* Before a new connection: what was cut comes again, whole, behind `id`. */
void sse_restart(struct sse *s);

void sse_free(struct sse *s);

#endif
