/*
 * kernel_talk.h: parses the lines that a kernel writes while it runs a cell.
 *
 * Lines are `WORD SEQ JSON`.  A result is passed on in pieces as it arrives,
 * whatever its size.  The line that ends the cell is kept, up to
 * KERNEL_TALK_END_MAX bytes.  The tenant may write any line: lines of another
 * cell or with an unknown word are skipped.
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
	int64_t seq; /* of the running cell; other lines are skipped */
	/* callback at the start of a result: send earlier output first */
	void (*begin)(void *ctx);
	/* callback for a piece of its JSON, without the newline at its end */
	void (*result)(void *ctx, const char *piece, size_t len, bool last);
	void *ctx;

	enum kernel_word word; /* of the present line, or of the cell's end */
	bool inside;           /* the head of the line has been read */
	bool skip;             /* not a line of this cell */
	bool cut;              /* the line is too long and was dropped */
	struct buf text;       /* the head; then the JSON of the end */
};

/* True when the cell has ended; see `word` and `text`. */
bool kernel_talk_read(struct kernel_talk *t, const char *data, size_t len);

/*
 * Called at end of file.  Ends a result of which only a part has arrived: the
 * client has that part already and skips an event that is not valid JSON.
 */
void kernel_talk_close(struct kernel_talk *t);

#endif
