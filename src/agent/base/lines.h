/*
 * lines.h: a stream of bytes as events of whole lines.
 *
 * A line goes out when it is complete; a piece of one when it has waited for
 * LINES_WAIT_MS, when it is longer than LINES_MAX, or at the end.  A character
 * that is not complete waits no longer than that either, because the rest of
 * it may never come: the bytes may be no text, and a client may wait for them.
 */
#ifndef SANDLEASE_AGENT_BASE_LINES_H
#define SANDLEASE_AGENT_BASE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/str.h"

enum { LINES_MAX = 65536, LINES_WAIT_MS = 50 };

/* Called with one line (its newline included) or a piece of one. */
typedef void lines_fn(void *ctx, const char *text, size_t len);

struct lines {
	struct buf pending;
	int64_t due_ms;      /* of clock_ms(): pending goes out; 0: none is */
	int64_t last_due_ms; /* ... and the bytes that came last */
	bool at_once;        /* bytes, not text: nothing waits */
	lines_fn *emit;
	void *ctx;
};

void lines_add(struct lines *l, const char *data, size_t len);

/* How long the piece that has waited longest may still wait; -1: none does. */
int lines_left_ms(const struct lines *l, size_t count);

/* What is there goes out, but for a character that has just begun. */
void lines_flush(struct lines *l);

/* All goes out, as it is; gives the memory back. */
void lines_end(struct lines *l);

#endif
