/* http_request_samples.h: requests, and what http_request.c writes for them. */
#ifndef SANDLEASE_UNIT_HTTP_REQUEST_SAMPLES_H
#define SANDLEASE_UNIT_HTTP_REQUEST_SAMPLES_H

#include "web/http_request.h"

#define HOST "Host: a.example\r\n"
#define GET "GET / HTTP/1.1\r\n" HOST
#define POST "POST / HTTP/1.1\r\n" HOST
#define KEEP "Connection: keep-alive\r\n\r\n"
#define TO_UP " HTTP/1.1\r\nHost: up.example\r\n"
#define SMUGGLED "GET /smuggled HTTP/1.1\r\n" HOST "\r\n"

struct sample {
	const char *sent;
	enum http_request_verdict verdict; /* the last one */
	const char *passed;
};

#define REFUSED(sent)                                                          \
	{                                                                      \
		sent, HTTP_REQUEST_REFUSED, ""                                 \
	}
#define WHOLE(sent, passed)                                                    \
	{                                                                      \
		sent, HTTP_REQUEST_COMPLETE, passed                            \
	}

/* clang-format off */
static const struct sample SAMPLES[] = {
	/* forms of the target */
	WHOLE(GET "\r\n", "GET /" TO_UP KEEP),
	WHOLE("GET /a?b=c%2e&d=//e HTTP/1.1\r\n" HOST "\r\n", "GET /a?b=c%2e&d=//e" TO_UP KEEP),
	WHOLE("GET //b.example/x HTTP/1.1\r\n" HOST "\r\n", "GET //b.example/x" TO_UP KEEP),
	WHOLE("GET http://b.example/x HTTP/1.1\r\n" HOST "\r\n", "GET /x" TO_UP KEEP),
	WHOLE("GET HTTP://b.example?q HTTP/1.1\r\n" HOST "\r\n", "GET /?q" TO_UP KEEP),
	WHOLE("GET https://b.example:8443 HTTP/1.1\r\n\r\n", "GET /" TO_UP KEEP),
	WHOLE("OPTIONS * HTTP/1.1\r\n" HOST "\r\n", "OPTIONS *" TO_UP KEEP),
	WHOLE("GET / HTTP/1.0\r\n\r\n", "GET /" TO_UP KEEP),
	REFUSED("GET * HTTP/1.1\r\n" HOST "\r\n"),
	REFUSED("GET /a#b HTTP/1.1\r\n" HOST "\r\n"),
	REFUSED("GET http://a.example#@b.example/ HTTP/1.1\r\n" HOST "\r\n"),
	REFUSED("GET a.example HTTP/1.1\r\n" HOST "\r\n"),
	REFUSED("GET ftp://a.example/ HTTP/1.1\r\n" HOST "\r\n"),
	REFUSED("GET http:///x HTTP/1.1\r\n" HOST "\r\n"),
	REFUSED("GET http://?x HTTP/1.1\r\n" HOST "\r\n"),
	REFUSED("GET /a b HTTP/1.1\r\n" HOST "\r\n"),
	REFUSED("GET /a\tb HTTP/1.1\r\n" HOST "\r\n"),
	REFUSED("GET /\x80 HTTP/1.1\r\n" HOST "\r\n"),
	REFUSED("GET /\x7f HTTP/1.1\r\n" HOST "\r\n"),
	REFUSED("GET /\x01 HTTP/1.1\r\n" HOST "\r\n"),
	/* not a request of HTTP/1 */
	REFUSED("\r\n" SMUGGLED),
	REFUSED("\n" SMUGGLED),
	REFUSED(" " SMUGGLED),
	REFUSED("get / HTTP/1.1\r\n" HOST "\r\n"),
	REFUSED("GeT / HTTP/1.1\r\n" HOST "\r\n"),
	REFUSED("NONE / HTTP/1.1\r\n" HOST "\r\n"),
	REFUSED("GET /\r\n\r\n"),
	REFUSED("GET / HTTP/0.9\r\n" HOST "\r\n"),
	REFUSED("GET / HTTP/2.0\r\n" HOST "\r\n"),
	REFUSED("GET / HTTP/11.1\r\n" HOST "\r\n"),
	REFUSED("GET / HTTPS/1.1\r\n" HOST "\r\n"),
	REFUSED("GET / FTP/1.1\r\n" HOST "\r\n"),
	REFUSED("GET / HTTP/1.1 \r\n" HOST "\r\n"),
	REFUSED("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
	REFUSED("\x16\x03\x01\x02"),
	REFUSED("HTTP/1.1 200 OK\r\n\r\n"),
	/* Host */
	REFUSED("GET / HTTP/1.1\r\n\r\n"),
	REFUSED("GET / HTTP/1.1\r\nHost:\r\n\r\n"),
	REFUSED("GET / HTTP/1.1\r\n" HOST "Host: b.example\r\n\r\n"),
	REFUSED("GET / HTTP/1.1\r\n" HOST "host: a.example\r\n\r\n"),
	REFUSED("GET / HTTP/1.1\r\nHost : a.example\r\n\r\n"),
	REFUSED("GET / HTTP/1.1\r\n Host: a.example\r\n\r\n"),
	/* framings */
	WHOLE(POST "Content-Length: 2\r\nX: y\r\n\r\nhi",
	    "POST /" TO_UP "X: y\r\nContent-Length: 2\r\n" KEEP "hi"),
	WHOLE(POST "Content-Length: 0\r\n\r\n", "POST /" TO_UP "Content-Length: 0\r\n" KEEP),
	WHOLE(POST "Content-Length: 002 \r\n\r\nhi",
	    "POST /" TO_UP "Content-Length: 2\r\n" KEEP "hi"),
	WHOLE(GET "Content-Length: 1\r\n\r\nh", "GET /" TO_UP "Content-Length: 1\r\n" KEEP "h"),
	WHOLE(POST "Transfer-Encoding: Chunked\r\n\r\n1\r\nh\r\n0\r\n\r\n",
	    "POST /" TO_UP "Transfer-Encoding: chunked\r\n" KEEP "1\r\nh\r\n0\r\n\r\n"),
	WHOLE(POST "Transfer-Encoding: chunked\r\n\r\n001;a=\"b\"\r\nh\r\n0;d\r\n\r\n",
	    "POST /" TO_UP "Transfer-Encoding: chunked\r\n" KEEP "1\r\nh\r\n0\r\n\r\n"),
	WHOLE(POST "Transfer-Encoding: chunked\r\n\r\n1 ; c\r\ni\r\n0\r\n\r\n",
	    "POST /" TO_UP "Transfer-Encoding: chunked\r\n" KEEP "1\r\ni\r\n0\r\n\r\n"),
	/* trailers are dropped */
	WHOLE(POST "Transfer-Encoding: chunked\r\nTrailer: X-Api-Key\r\n\r\n0\r\nX-Api-Key: mine\r\n\r\n",
	    "POST /" TO_UP "Transfer-Encoding: chunked\r\n" KEEP "0\r\n\r\n"),
	WHOLE(POST "Transfer-Encoding: chunked\r\n\r\n0\r\nHost: b.example\r\n\r\n" SMUGGLED,
	    "POST /" TO_UP "Transfer-Encoding: chunked\r\n" KEEP "0\r\n\r\n"
	    "GET /smuggled" TO_UP KEEP),
	/* two requests, one after the other */
	WHOLE(GET "\r\n" POST "Content-Length: 1\r\n\r\nx" GET "A: b\r\n\r\n",
	    "GET /" TO_UP KEEP "POST /" TO_UP "Content-Length: 1\r\n" KEEP "x"
	    "GET /" TO_UP "A: b\r\n" KEEP),
	/* a message that other programs could frame differently */
	REFUSED(POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" SMUGGLED),
	REFUSED(POST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" SMUGGLED),
	REFUSED(POST "Content-Length: 2\r\nContent-Length: 2\r\n\r\nhi"),
	REFUSED(POST "Content-Length: 2\r\nContent-Length: 3\r\n\r\nhi"),
	REFUSED(POST "Content-Length: 2\r\ncontent-LENGTH: 3\r\n\r\nhi"),
	REFUSED(POST "Content-Length: 2, 2\r\n\r\nhi"),
	REFUSED(POST "Content-Length: +2\r\n\r\nhi"),
	REFUSED(POST "Content-Length: -2\r\n\r\nhi"),
	REFUSED(POST "Content-Length: 0x2\r\n\r\nhi"),
	REFUSED(POST "Content-Length: 1 0\r\n\r\nhi"),
	REFUSED(POST "Content-Length:\r\n\r\nhi"),
	REFUSED(POST "Content-Length: \r\n\r\nhi"),
	REFUSED(POST "Content-Length: 18446744073709551615\r\n\r\nhi"),
	REFUSED(POST "Content-Length: 18446744073709551618\r\n\r\nhi"),
	REFUSED(POST "Content-Length : 2\r\n\r\nhi"),
	REFUSED(POST "Content-Length\t: 2\r\n\r\nhi"),
	REFUSED(POST "Content-Length: 1\r\n 0\r\n\r\n0123456789"),
	REFUSED(POST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
	REFUSED(POST "Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n"),
	REFUSED(POST "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n"),
	REFUSED(POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
	REFUSED(POST "Transfer-Encoding: identity\r\n\r\n"),
	REFUSED(POST "Transfer-Encoding:\r\n\r\n"),
	REFUSED(POST "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
	REFUSED(POST "Transfer-Encoding: chunkedx\r\n\r\n0\r\n\r\n"),
	REFUSED(POST "Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n"),
	REFUSED(POST "Transfer-Encoding: \x0b" "chunked\r\n\r\n0\r\n\r\n"),
	REFUSED(POST "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n"),
	REFUSED(POST "Transfer-Encoding: chun\r\n ked\r\n\r\n0\r\n\r\n"),
	REFUSED(POST "Transfer-Encoding: chunked\r\n \r\n\r\n0\r\n\r\n" SMUGGLED),
	REFUSED("POST / HTTP/1.0\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
	/* lines that are no headers */
	REFUSED(GET "A b: c\r\n\r\n"),
	REFUSED(GET "A\x01: c\r\n\r\n"),
	REFUSED(GET "A\x80: c\r\n\r\n"),
	REFUSED(GET "A(: c\r\n\r\n"),
	REFUSED(GET "no colon\r\n\r\n"),
	REFUSED(GET ": no name\r\n\r\n"),
	REFUSED(GET "A: b\x0b" "c\r\n\r\n"),
	REFUSED(GET "A: b\x7f\r\n\r\n"),
	REFUSED(GET "\r" SMUGGLED),
	REFUSED(GET "A: b\rContent-Length: 5\r\n\r\n"),
	/* headers of this connection only */
	WHOLE(GET "A:\r\nB: \t c \t\r\nKeep-Alive: x\r\nTE: trailers\r\nProxy-Connection: a\r\n"
	    "Proxy-Authorization: Basic x\r\nTrailer: A\r\nConnection: A, B\r\n\r\n",
	    "GET /" TO_UP "A: \r\nB: c\r\n" KEEP),
	/* the next line continues the value; it is passed on as one line */
	WHOLE(GET "A: b\r\n c\r\n\r\n", "GET /" TO_UP "A: b c\r\n" KEEP),
	/* a bare line feed ends a line; it is passed on as CR LF */
	WHOLE("GET / HTTP/1.1\nHost: a.example\nA: b\n\n", "GET /" TO_UP "A: b\r\n" KEEP),
	/* Expect */
	WHOLE(POST "Expect: 100-Continue\r\nContent-Length: 1\r\n\r\nh",
	    "POST /" TO_UP "Content-Length: 1\r\n" KEEP "h"),
	REFUSED(POST "Expect: something\r\nContent-Length: 1\r\n\r\nh"),
	/* upgrades: only to a WebSocket, only without a body */
	WHOLE(GET "Upgrade: WebSocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: x\r\n\r\n",
	    "GET /" TO_UP "Sec-WebSocket-Key: x\r\nConnection: upgrade\r\nUpgrade: WebSocket\r\n\r\n"),
	WHOLE(GET "Upgrade: websocket\r\n\r\n", "GET /" TO_UP KEEP),
	WHOLE(GET "Upgrade: h2c\r\nConnection: Upgrade\r\n\r\n" SMUGGLED,
	    "GET /" TO_UP KEEP "GET /smuggled" TO_UP KEEP),
	WHOLE(GET "Upgrade: websocket, h2c\r\nConnection: Upgrade\r\n\r\n", "GET /" TO_UP KEEP),
	WHOLE(POST "Upgrade: websocket\r\nConnection: Upgrade\r\nContent-Length: 1\r\n\r\nh",
	    "POST /" TO_UP "Content-Length: 1\r\n" KEEP "h"),
	WHOLE(GET "Upgrade: websocket\r\nConnection: Upgrade\r\nContent-Length: 1\r\n\r\nh",
	    "GET /" TO_UP "Content-Length: 1\r\n" KEEP "h"),
	REFUSED(GET "Upgrade: websocket\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n"),
	/* CONNECT has no body */
	WHOLE("CONNECT a.example:443 HTTP/1.1\r\n" HOST "\r\n", "tunnel to a.example:443"),
	WHOLE("CONNECT [2001:db8::1]:443 HTTP/1.1\r\n\r\n", "tunnel to [2001:db8::1]:443"),
	WHOLE("CONNECT a.example:443 HTTP/1.0\r\n\r\n", "tunnel to a.example:443"),
	REFUSED("CONNECT a.example:443 HTTP/1.1\r\n" HOST "Content-Length: 1\r\n\r\nx"),
	REFUSED("CONNECT a.example:443 HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n"),
	REFUSED("CONNECT a.example:443 HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"),
};
/* clang-format on */

#endif
