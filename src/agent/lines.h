/*
 * lines.h: a stream of bytes as events of whole lines.
 *
 * A line goes out when it is complete; a piece of one when it has been quiet
 * for a while, when it is longer than LINES_MAX, or at the end.  No piece
 * ends inside a UTF-8 sequence (a sequence that never gets complete goes out
 * at the end, as it is).
 */
#ifndef SANDLEASE_AGENT_LINES_H
#define SANDLEASE_AGENT_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "common/str.h"

enum { LINES_MAX = 65536 };

/* Called with one line (its newline included) or a piece of one. */
typedef void lines_fn(void *ctx, const char *text, size_t len);

struct lines {
	struct buf pending;
	lines_fn *emit;
	void *ctx;
};

void lines_add(struct lines *l, const char *data, size_t len);

/* It has been quiet: what is there may go. */
void lines_flush(struct lines *l);

/* Nothing more will come; gives the memory back. */
void lines_end(struct lines *l);

#endif
