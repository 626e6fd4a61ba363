/*
 * http_reply.h: reads an HTTP/1 response and writes it anew.
 *
 * The bytes come from a program that may be hostile, and nginx 1.22 passes some
 * of what such a program can say to its client unread: an interim response and
 * all that follows it, a response without a status line, a 101 that was not asked
 * for.  So nothing is copied: a parser reads the response, and what leaves is
 * written here, with one status line, checked headers and one framing.  Nothing
 * that follows a complete response leaves at all.
 *
 * Interim responses are dropped.  Pure: bytes in, bytes out, in whatever
 * portions they come.
 */
#ifndef SANDLEASE_WEB_HTTP_REPLY_H
#define SANDLEASE_WEB_HTTP_REPLY_H

#include <stdbool.h>
#include <stddef.h>

#include <http_parser.h>

#include "common/str.h"

enum {
	HTTP_REPLY_HEAD_MAX = 65536, /* bytes of all headers together */
	HTTP_REPLY_HEADERS_MAX = 256,
	HTTP_REPLY_INTERIM_MAX = 16
};

enum http_reply_verdict {
	HTTP_REPLY_MORE,     /* the response is not complete yet */
	HTTP_REPLY_COMPLETE, /* what follows belongs to nobody */
	HTTP_REPLY_UPGRADED, /* what follows passes as it is */
	HTTP_REPLY_REFUSED,  /* malformed, ambiguous, too large or cut short */
};

/* What was asked decides what a response means. */
struct http_reply_to {
	bool head;    /* the method was HEAD: there is no body */
	bool upgrade; /* 101 may be the answer */
};

struct http_reply {
	struct http_parser parser;
	struct http_reply_to to;
	struct buf reason, name, value; /* as far as they have come */
	struct buf headers;             /* checked, as they will be written */
	struct buf *out;                /* borrowed for the length of a call */
	size_t header_count, interim_count;
	bool begun;    /* a first byte has been seen */
	bool in_value; /* the parser has come to a header's value */
	bool has_length, has_coding;
	bool started; /* the head has been written */
	bool complete, upgraded;
};

void http_reply_begin(struct http_reply *r, struct http_reply_to to);

/* Adds to `out` what of these bytes may leave. */
enum http_reply_verdict http_reply_take(struct http_reply *r, const char *data,
    size_t len, struct buf *out);

/* The program has closed the connection: complete or refused. */
enum http_reply_verdict http_reply_close(struct http_reply *r, struct buf *out);

void http_reply_free(struct http_reply *r);

#endif
