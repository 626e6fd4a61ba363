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

/* Closes both ends. */
void relay_conn_finish(struct conn *c);

/* Closes the app's end; the client gets what is in `out`, then its end. */
void relay_conn_leave_app(struct conn *c);

/*
 * Writes what fd takes now, and keeps the rest, of which there was none before.
 * -1: it takes nothing any more.
 */
int relay_conn_send(int fd, const char *data, size_t len, struct buf *rest);

/* Writes of what was kept what fd takes now.  -1: it takes nothing any more. */
int relay_conn_flush(int fd, struct buf *b, size_t *sent);

/* What to do when one end is ready, while both are connected. */
void relay_copy_step(struct conn *c, enum side at, uint32_t events);

/* Says what each end is waited for. */
void relay_copy_rearm(struct conn *c);

#endif
