/*
 * blocks.h: reads a file in blocks, each of which can be encoded by itself.
 *
 * With `text`, no block ends within a UTF-8 sequence.  Otherwise each block but
 * the last has a multiple of three bytes, as base64 needs it.
 */
#ifndef SANDLEASE_AGENT_FILES_BLOCKS_H
#define SANDLEASE_AGENT_FILES_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { BLOCKS_BYTES = 65535 };

struct blocks {
	int fd; /* borrowed; read from its current offset */
	bool text;
	int64_t left; /* the most bytes that are still read */

	char *buf; /* this and the rest: only for blocks.c */
	size_t len, given;
	bool ended;
};

#define auto_blocks __attribute__((cleanup(blocks_free)))

/*
 * Reads the next block, which is at *data until the next call.  Returns its
 * length, 0 at end of file, -1 with errno.  EAGAIN: a non-blocking fd has no
 * bytes yet.
 */
ssize_t blocks_next(struct blocks *b, const char **data);
void blocks_free(struct blocks *b);

#endif
