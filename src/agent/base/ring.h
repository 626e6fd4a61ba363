/*
 * ring.h: keeps the newest output of a process in a file of bounded size.
 *
 * stdout and stderr are one sequence of bytes in the order in which they came,
 * counted from 0; a bit for each byte says which stream the byte is of.  One
 * thread appends, any number of other threads read at the same time.  The
 * tenant can reach the file, so its bytes are used only as output, never as a
 * length or an offset; ring_open() checks the two totals that it reads.
 */
#ifndef SANDLEASE_AGENT_BASE_RING_H
#define SANDLEASE_AGENT_BASE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

enum {
	RING_BYTES = 8 * 1024 * 1024, /* of output that is kept */
	RING_BLOCK = 32 * 1024
};

enum ring_stream { RING_STDOUT, RING_STDERR };

struct ring {
	int fd;               /* -1: no file; all output counts as lost */
	bool gone;            /* the file was removed: output counts as lost */
	unsigned char edge;   /* the last byte of bits, partly filled */
	atomic_llong touched; /* end of the bytes written or being written */
	atomic_llong total;   /* end of the bytes that can be read */
	atomic_llong lost;    /* bytes that could not be written */
};

/* The result of ring_read(); too large for the stack of a thread. */
struct ring_block {
	int64_t offset; /* of data[0] */
	size_t len;
	char data[RING_BLOCK];
	unsigned char bits[RING_BLOCK / 8 + 2];
};

/* Makes a new file, and removes an old one.  After -1 all output is lost. */
int ring_create(struct ring *r, const char *path, struct err *e) MUST_CHECK;

/* Opens the file of an earlier ring for reading. */
int ring_open(struct ring *r, const char *path, struct err *e) MUST_CHECK;
void ring_close(struct ring *r);

/* Never waits for readers, never fails: unwritten bytes count as lost. */
void ring_append(struct ring *r, enum ring_stream which, const char *data,
    size_t len);

/* The offset of the oldest byte that is left. */
int64_t ring_first(const struct ring *r);

/*
 * Reads a block that begins at `offset`, or at the oldest byte that is left if
 * that is later.  False when there is nothing more.  The block ends within a
 * character only where the output does.
 */
bool ring_read(const struct ring *r, int64_t offset, struct ring_block *b);

/* How many bytes from `at` on are of the same stream, and of which. */
size_t ring_run(const struct ring_block *b, size_t at, enum ring_stream *which);

#endif
