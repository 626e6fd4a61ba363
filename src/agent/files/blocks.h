/*
 * blocks.h: a file piece by piece, each of which can be encoded by itself.
 *
 * As text no piece ends within a UTF-8 sequence, otherwise each but the last
 * has a multiple of three bytes, as base64 wants it.
 */
#ifndef SANDLEASE_AGENT_FILES_BLOCKS_H
#define SANDLEASE_AGENT_FILES_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { BLOCKS_BYTES = 65535 };

struct blocks {
	int fd; /* borrowed; read from where it stands */
	bool text;
	int64_t left; /* at most so many bytes are read */

	char *buf; /* the rest is blocks.c's */
	size_t len, given;
	bool ended;
};

#define auto_blocks __attribute__((cleanup(blocks_free)))

/*
 * The next piece, at *data until the next call: its length, 0 at the end, -1
 * with errno.  EAGAIN: nothing yet, of a file that does not wait.
 */
ssize_t blocks_next(struct blocks *b, const char **data);
void blocks_free(struct blocks *b);

#endif
