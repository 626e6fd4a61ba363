/* blocks.c: reads a file in blocks, each of which can be encoded by itself. */
#include "agent/files/blocks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/utf8.h"

/* How many of the bytes can be encoded before the next bytes are known. */
static size_t
whole_bytes(bool text, const char *data, size_t len)
{
	return text ? utf8_whole(data, len) : len - len % 3;
}

/* Reads once.  -1 with errno. */
static int
read_more(struct blocks *b)
{
	size_t room = BLOCKS_BYTES - b->len;
	ssize_t n;

	if ((int64_t)room > b->left)
		room = (size_t)b->left;
	do
		n = room > 0 ? read(b->fd, b->buf + b->len, room) : 0;
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -1;
	b->ended = n == 0;
	b->len += (size_t)n;
	b->left -= n;
	return 0;
}

ssize_t
blocks_next(struct blocks *b, const char **data)
{
	if (b->buf == NULL)
		b->buf = xmalloc(BLOCKS_BYTES);
	memmove(b->buf, b->buf + b->given, b->len - b->given);
	b->len -= b->given;
	b->given = 0;
	while (!b->ended && b->len < BLOCKS_BYTES) {
		if (read_more(b) == 0)
			continue;
		/* return these bytes now: more may take long to come */
		if (errno == EAGAIN && whole_bytes(b->text, b->buf, b->len) > 0)
			break;
		return -1;
	}
	b->given = b->ended ? b->len : whole_bytes(b->text, b->buf, b->len);
	*data = b->buf;
	return (ssize_t)b->given;
}

void
blocks_free(struct blocks *b)
{
	free(TAKE(b->buf));
}
