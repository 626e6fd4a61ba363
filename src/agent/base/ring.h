/*
 * ring.h: the newest output of a process, in a file of bounded size.
 *
 * Both streams in the order in which they came, as one sequence of bytes that
 * are counted from 0; a bit beside each byte says which stream it is of.  One
 * thread appends, any others read meanwhile.  The file lies where a tenant can
 * reach it: what is read back is only ever bytes, never a length or a place.
 */
#ifndef SANDLEASE_AGENT_BASE_RING_H
#define SANDLEASE_AGENT_BASE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

enum {
	RING_BYTES = 8 * 1024 * 1024, /* of output that are kept */
	RING_BLOCK = 32 * 1024
};

enum ring_stream { RING_STDOUT, RING_STDERR };

struct ring {
	int fd;               /* -1: none; what comes is lost */
	bool gone;            /* the file has no name any more: also lost */
	unsigned char edge;   /* the byte of bits that is being filled */
	atomic_llong touched; /* below it bytes are written or being so */
	atomic_llong total;   /* bytes that are there to be read */
	atomic_llong lost;    /* bytes that the disk did not take */
};

/* What one look takes; too large for a small stack. */
struct ring_block {
	int64_t offset; /* of its first byte */
	size_t len;
	char data[RING_BLOCK];
	unsigned char bits[RING_BLOCK / 8 + 2];
};

/* A new file, whatever was there; without one (-1) the ring loses all. */
int ring_create(struct ring *r, const char *path, struct err *e) MUST_CHECK;

/* A file that an earlier ring left, for reading. */
int ring_open(struct ring *r, const char *path, struct err *e) MUST_CHECK;
void ring_close(struct ring *r);

/* Never blocks, never fails: what cannot be kept counts as lost. */
void ring_append(struct ring *r, enum ring_stream which, const char *data,
    size_t len);

/* The oldest byte that is left. */
int64_t ring_first(const struct ring *r);

/*
 * What begins at `offset`, or at the oldest byte that is left if that is
 * later; nothing (false) at the end.  It ends within a character only where
 * the output does.
 */
bool ring_read(const struct ring *r, int64_t offset, struct ring_block *b);

/* How many bytes from `at` on are of one stream, and of which. */
size_t ring_run(const struct ring_block *b, size_t at, enum ring_stream *which);

#endif
