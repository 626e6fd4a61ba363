/*
 * http.h: the struct that the files about HTTP share.
 */
#ifndef SANDLEASE_EGRESS_SERVE_HTTP_H
#define SANDLEASE_EGRESS_SERVE_HTTP_H

#include "egress/serve/serve.h"
#include "web/http_reply.h"
#include "web/http_request.h"

enum { HTTP_HOST_TEXT_MAX = HTTP_AUTHORITY_MAX };

enum stage {
	STAGE_HEAD, /* a request is read */
	STAGE_ASK,  /* allowed; now it is counted, and the server connected */
	STAGE_EXCHANGE /* passed on, and the response back */
};

struct http {
	struct http_request request;
	struct http_reply reply;
	struct buf in; /* bytes of the client that are not parsed yet */
	enum stage stage;
	enum http_kind kind;
	bool keep;    /* the client may send another request */
	bool paid;    /* this request is counted */
	bool reused;  /* the server has answered on this connection before */
	bool unheard; /* the server takes no more; it may have answered */
};

/* ---- target.c */

/*
 * Finds the target of the request that was read: c->host and c->port.  False:
 * the session may not reach it, and the connection was refused.
 */
bool target_find(struct conn *c);

/* The header Host for the server. */
void target_host(const struct conn *c, char out[HTTP_HOST_TEXT_MAX]);

#endif
