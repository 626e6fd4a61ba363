/*
 * http_request.h: parses HTTP/1 requests and writes them anew.
 *
 * The bytes come from a program that may be hostile, and another server reads
 * what is written: a request that this parser and that server could understand
 * differently is refused.  Nothing is copied but checked headers and the body,
 * in one framing.
 *
 * There is no I/O here.  The parser stops after each head, so that its owner
 * can decide about the request before any of it is passed on.
 */
#ifndef SANDLEASE_WEB_HTTP_REQUEST_H
#define SANDLEASE_WEB_HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <http_parser.h>

#include "common/str.h"
#include "web/http_head.h"

enum {
	HTTP_TARGET_MAX = 32768,
	HTTP_AUTHORITY_MAX = 300 /* a name of the DNS, and a port */
};

enum http_request_verdict {
	HTTP_REQUEST_MORE,     /* more bytes are needed */
	HTTP_REQUEST_HEAD,     /* the head is complete; decide about it */
	HTTP_REQUEST_COMPLETE, /* so is the body; the next request may follow */
	HTTP_REQUEST_REFUSED   /* malformed, ambiguous or too large */
};

struct http_request {
	struct http_parser parser;
	struct http_head head;
	struct buf url;     /* the part that has arrived */
	struct buf headers; /* checked, in their final form */
	struct buf *out;    /* borrowed while the parser runs */
	bool begun;         /* a byte of this request has arrived */
	bool headed, complete;
	bool refused;
	bool too_large; /* why it is refused: 431, else 400 */
	/* of a complete head */
	const char *method;
	bool connect;                       /* the method is CONNECT */
	bool wants_continue;                /* Expect: 100-continue */
	bool wants_upgrade;                 /* to a WebSocket */
	char upgrade[32];                   /* "" or the protocol */
	char host[HTTP_AUTHORITY_MAX];      /* header Host; "": none */
	char authority[HTTP_AUTHORITY_MAX]; /* of an absolute target; or "" */
	bool https;                         /* its scheme */
	struct buf path;                    /* with the query */
};

/* A header that is added; it replaces those of the same name. */
struct http_added {
	const char *name, *value;
};

void http_request_begin(struct http_request *r);
void http_request_free(struct http_request *r);

/*
 * Parses bytes; *used says how many.  After HEAD the owner calls
 * http_request_pass() and goes on with the rest; body bytes are added to `out`.
 * After COMPLETE the next bytes begin another request.
 */
enum http_request_verdict http_request_take(struct http_request *r,
    const char *data, size_t len, size_t *used, struct buf *out);

/*
 * Writes the head in origin form for the server called `host`.  With `close`
 * the server is asked to close the connection after its response.
 */
void http_request_pass(struct http_request *r, const char *host, bool close,
    const struct http_added *added, size_t count, struct buf *out);

/* Whether the bytes, in any case, may be the beginning of a method. */
bool http_method_begins(const char *data, size_t len);

/* True when the client allows another request on this connection. */
bool http_request_keeps(const struct http_request *r);

/*
 * Splits "host[:port]", as in Host, in CONNECT and in a URL.  *host_len is the
 * length of the host, without the brackets of an IPv6 address, at *host.  False
 * if it is neither; *port is `fallback` where there is none.
 */
bool http_authority(const char *text, uint16_t fallback, const char **host,
    size_t *host_len, uint16_t *port);

#endif
