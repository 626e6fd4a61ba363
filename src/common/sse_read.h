/*
 * sse_read.h: parses server-sent events.
 *
 * Bytes go in as they come, cut anywhere; events come out whole.  Lines end
 * with LF, CR or CR LF.  Only the fields event, data and id are read.
 */
#ifndef SANDLEASE_COMMON_SSE_READ_H
#define SANDLEASE_COMMON_SSE_READ_H

#include <stdbool.h>
#include <stddef.h>

#include "common/str.h"

enum { SSE_READ_ID_MAX = 64 };

/*
 * Called with an event's data, NUL-terminated, and its name (NULL: none).
 * Returns false to stop reading.
 */
typedef bool sse_read_fn(void *ctx, const char *name, const char *data,
    size_t len);

/* Start with { .event = ..., .ctx = ... }. */
struct sse_read {
	sse_read_fn *event;
	bool (*comment)(void *ctx); /* or NULL: comments are skipped */
	void *ctx;
	size_t max;               /* bytes of an event; 0: no limit */
	char id[SSE_READ_ID_MAX]; /* of the last event that had one, or "" */
	/* the rest is private */
	char next_id[SSE_READ_ID_MAX]; /* of the event that is being read */
	struct buf line, data, name;
	bool has_data;
	bool after_cr;
};

/* False: event() or comment() returned false, or an event exceeds max. */
bool sse_read_feed(struct sse_read *s, const char *bytes, size_t len);

/*
 * Drops the event that was cut.  Called before a new connection, on which the
 * server repeats everything after `id`.
 */
void sse_read_restart(struct sse_read *s);

void sse_read_free(struct sse_read *s);

#endif
