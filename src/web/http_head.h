/*
 * http_head.h: collects the headers of an HTTP/1 message from a parser.
 *
 * The parser (libhttp-parser) gives names and values in pieces.  Each complete
 * header is checked here, because the parser accepts some that would mean
 * something else to another program: a space in a name, control characters in a
 * value, headers that frame the body twice.
 */
#ifndef SANDLEASE_WEB_HTTP_HEAD_H
#define SANDLEASE_WEB_HTTP_HEAD_H

#include <stdbool.h>
#include <stddef.h>

#include "common/str.h"

enum {
	HTTP_HEAD_MAX = 65536, /* bytes of all headers together */
	HTTP_HEADERS_MAX = 256
};

/*
 * Headers about the connection or the framing are not passed on: they are valid
 * for one connection only, and the writer of a message adds its own.
 */
enum http_role {
	HTTP_PASSES,
	HTTP_DROPPED,
	HTTP_LENGTH,
	HTTP_CODING,
	HTTP_UPGRADE,
	HTTP_HOST,
	HTTP_EXPECT
};

struct http_head {
	struct buf name, value; /* the header that has arrived in part */
	struct buf chunk;       /* bytes of the body that are to be one chunk */
	size_t count, bytes;
	bool in_value; /* the parser is in a header's value */
	bool has_length, has_coding;
	bool too_large; /* why it was refused: too many or too long headers */
	/*
	 * Called for each complete header; -1 refuses the message.  `ctx` is
	 * the owner's.
	 */
	int (*header)(void *ctx, enum http_role role, const char *name,
	    const char *value);
	void *ctx;
};

/* Forgets what it has; header() and ctx stay. */
void http_head_reset(struct http_head *h);
void http_head_free(struct http_head *h);

/* For the parser's callbacks: 0, or -1 to refuse the message. */
int http_head_name(struct http_head *h, const char *data, size_t len);
int http_head_value(struct http_head *h, const char *data, size_t len);
int http_head_end(struct http_head *h);

/*
 * Writes the bytes of h->chunk as one chunk, if there are any.  Chunks of a byte
 * that arrive together leave together: a head for each would cost much.
 */
void http_head_flush_chunk(struct http_head *h, struct buf *out);

/* True when no byte is a control character; a tab is none. */
bool http_is_text(const char *s, size_t len);

/* Appends a piece unless *to would have more than HTTP_HEAD_MAX bytes. */
int http_add_bounded(struct buf *to, const char *data, size_t len);

/* Makes the buffer "", not NULL. */
void http_set_empty(struct buf *b);

#endif
