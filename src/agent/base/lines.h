/*
 * lines.h: cuts a stream of bytes into lines.
 *
 * A complete line is emitted at once.  A part of a line is emitted when it has
 * waited for LINES_WAIT_MS, when it is longer than LINES_MAX, or at the end.
 * An incomplete character waits no longer than LINES_WAIT_MS either: the rest
 * may never come, because the bytes may be no text, and a client may wait for
 * them.
 */
#ifndef SANDLEASE_AGENT_BASE_LINES_H
#define SANDLEASE_AGENT_BASE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/str.h"

enum { LINES_MAX = 65536, LINES_WAIT_MS = 50 };

/* Called with one line (newline included) or a part of one. */
typedef void lines_fn(void *ctx, const char *text, size_t len);

struct lines {
	struct buf pending;
	int64_t due_ms; /* by clock_ms(), when to emit `pending`; 0: empty */
	int64_t last_due_ms; /* the same for the bytes that came last */
	bool at_once;        /* emit everything at once: bytes, not text */
	lines_fn *emit;
	void *ctx;
};

void lines_add(struct lines *l, const char *data, size_t len);

/* The time to the first due_ms of `count` streams; -1: nothing is pending. */
int lines_left_ms(const struct lines *l, size_t count);

/* Emits `pending`, except a character that has just begun. */
void lines_flush(struct lines *l);

/* Emits all that is pending, and frees the memory. */
void lines_end(struct lines *l);

#endif
