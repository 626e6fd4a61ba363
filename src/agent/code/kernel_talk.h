/*
 * kernel_talk.h: what a kernel says while it runs a cell.
 *
 * Lines `WORD SEQ JSON`.  A result goes on as it comes, whatever its size; the
 * line that ends the cell is kept, within a bound.  All of it is the tenant's
 * word: what is of another cell, or of no known word, is passed over.
 */
#ifndef SANDLEASE_AGENT_CODE_KERNEL_TALK_H
#define SANDLEASE_AGENT_CODE_KERNEL_TALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/str.h"

enum { KERNEL_TALK_END_MAX = 1024 * 1024 };

enum kernel_word {
	KERNEL_WORD_NONE,
	KERNEL_WORD_RESULT,
	KERNEL_WORD_DONE,
	KERNEL_WORD_ERROR,
	KERNEL_WORD_READY,
	KERNEL_WORD_MISSING,
	KERNEL_WORD__MAX
};

struct kernel_talk {
	int64_t seq; /* of the cell that is meant */
	/* a result begins: what was written before it is to go first */
	void (*begin)(void *ctx);
	/* a piece of its JSON; `last` has no newline either */
	void (*result)(void *ctx, const char *piece, size_t len, bool last);
	void *ctx;

	enum kernel_word word; /* of the line we are in, or of the end */
	bool inside;           /* beyond the head of a line */
	bool skip;             /* ... which is not for us */
	bool cut;              /* ... or too long to be kept */
	struct buf text; /* the head; then the JSON of the end, if whole */
};

/* True when the cell has ended: `word` and `text` say how. */
bool kernel_talk_read(struct kernel_talk *t, const char *data, size_t len);

/*
 * Nothing more will come; ends a result that was cut off, which is no JSON
 * then: half of it is with the client already, who passes over such an event.
 */
void kernel_talk_close(struct kernel_talk *t);

#endif
