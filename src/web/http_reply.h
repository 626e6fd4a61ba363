/*
 * http_reply.h: parses an HTTP/1 response and writes it anew.
 *
 * The bytes come from a program that may be hostile.  nginx 1.22 passes some
 * things to its client unchecked: an interim response and everything after it,
 * a response without a status line, a 101 that was not requested.  So nothing
 * is copied: a parser reads the response, and this code writes a new one with
 * one status line, checked headers and one framing.  Bytes after a complete
 * response are dropped, and so are interim responses.
 *
 * There is no I/O here: bytes go in, in any portions, and bytes come out.
 */
#ifndef SANDLEASE_WEB_HTTP_REPLY_H
#define SANDLEASE_WEB_HTTP_REPLY_H

#include <stdbool.h>
#include <stddef.h>

#include <http_parser.h>

#include "common/str.h"
#include "web/http_head.h"

enum { HTTP_REPLY_INTERIM_MAX = 16 };

enum http_reply_verdict {
	HTTP_REPLY_MORE,     /* the response is not complete yet */
	HTTP_REPLY_COMPLETE, /* further bytes are dropped */
	HTTP_REPLY_UPGRADED, /* further bytes pass unchanged: a tunnel */
	HTTP_REPLY_REFUSED,  /* malformed, ambiguous, too large or cut short */
};

/* Facts of the request; the meaning of a response depends on them. */
struct http_reply_to {
	bool head;       /* the method was HEAD: the response has no body */
	bool upgrade;    /* the client asked for it: 101 is allowed */
	bool keep_alive; /* the client may send another request */
	bool no_chunks;  /* the client speaks HTTP/1.0 */
};

struct http_reply {
	struct http_parser parser;
	struct http_reply_to to;
	struct http_head head;
	struct buf reason;  /* the part that has arrived */
	struct buf headers; /* checked, in their final form */
	struct buf *out;    /* borrowed while the parser runs */
	size_t interim_count;
	bool begun;   /* a first byte has been seen */
	bool started; /* the head has been written */
	bool complete, upgraded;
	bool keeps; /* the client was told that it may send another request */
	bool server_keeps; /* so may we, when the response is complete */
};

void http_reply_begin(struct http_reply *r, struct http_reply_to to);

/* Parses these bytes and adds those that may be sent on to `out`. */
enum http_reply_verdict http_reply_take(struct http_reply *r, const char *data,
    size_t len, struct buf *out);

/* The program has closed the connection: returns complete or refused. */
enum http_reply_verdict http_reply_close(struct http_reply *r, struct buf *out);

void http_reply_free(struct http_reply *r);

#endif
