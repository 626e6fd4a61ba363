/*
 * internal.h: a relayed connection, for relay/conn.c and relay/copy.c.
 *
 * Everything here runs in the loop's thread.
 */
#ifndef SANDLEASE_AGENT_RELAY_INTERNAL_H
#define SANDLEASE_AGENT_RELAY_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/loop.h"
#include "agent/relay/request.h"
#include "common/str.h"
#include "web/http_reply.h"

enum phase {
	CONNECTING_4, /* to 127.0.0.1 */
	CONNECTING_6, /* to ::1 */
	COPYING,
	HEAD,   /* nothing listens: reading what was asked */
	LAST,   /* the app is done with: writing what is left for the client */
	LINGER, /* waiting for the client to have read it */
	OVER
};

enum side { CLIENT, SERVER };

struct conn;

struct end {
	struct loop_item item;
	struct conn *conn;
	enum side side;
	int fd;
};

struct conn {
	struct end end[2];
	int port;
	enum phase phase;
	struct relay_request asked;
	bool begun;     /* `asked` has been read, the reply may be */
	bool asked_all; /* the client has said its last */
	bool told_all;  /* ... and the app knows */
	bool deaf;      /* the app reads nothing any more */
	bool hung_up;   /* the app has closed both ways: no longer watched */
	struct buf in;  /* of the request, not yet written to the app */
	struct buf out; /* of the response, not yet written to the client */
	size_t in_sent, out_sent;
	struct http_reply reply;
	int64_t deadline_ms; /* 0: none */
	struct conn *next;
};

/* How a connection goes on after a step. */
enum relay_next {
	RELAY_COPIES,   /* it goes on */
	RELAY_ANSWERED, /* the client gets what is in `out`; the app is done */
	RELAY_BROKEN    /* both ends are to be closed */
};

/* Copies when one end is ready, while both are connected. */
enum relay_next relay_copy_step(struct conn *c, enum side at, uint32_t events);

/* Writes of what was kept what fd takes now.  -1: it takes nothing any more. */
int relay_copy_flush(int fd, struct buf *b, size_t *sent);

/* Says what each end is waited for. */
void relay_copy_rearm(struct conn *c);

#endif
