/*
 * internal.h: the state of a relayed connection, shared by relay/conn.c and
 * relay/copy.c.
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
	HEAD,   /* nothing listens on the port: reading the request's head */
	LAST,   /* the app's end is closed: writing the rest to the client */
	LINGER, /* all is written: waiting for the client to close */
	OVER
};

enum side { CLIENT, SERVER };

struct relay_conn;

struct relay_end {
	struct loop_item item;
	struct relay_conn *conn;
	enum side side;
	int fd;
};

struct relay_conn {
	struct relay_end end[2];
	int port;
	enum phase phase;
	struct relay_request asked;
	bool begun;     /* `asked` is set, and the app's reply may be read */
	bool asked_all; /* the client has sent end of file */
	bool told_all;  /* the end of file was passed on to the app */
	bool deaf;     /* the app reads no more: drop the rest of the request */
	bool hung_up;  /* the app has closed both ways: not in epoll any more */
	struct buf in; /* bytes of the request, not yet written to the app */
	struct buf out; /* bytes of the reply, not yet written to the client */
	size_t in_sent, out_sent;
	struct http_reply reply;
	int64_t deadline_ms; /* 0: none */
	struct relay_conn *next;
};

/* The result of relay_copy_step(). */
enum relay_next {
	RELAY_COPIES,   /* wait for the next event */
	RELAY_ANSWERED, /* close the app's end, write `out` to the client */
	RELAY_BROKEN    /* close both ends */
};

/* Copies in both directions after end `at` has become ready. */
enum relay_next relay_copy_step(struct relay_conn *c, enum side at,
    uint32_t events);

/* Writes as much of `b`, from *sent on, as fd takes now.  -1: fd is broken. */
int relay_copy_flush(int fd, struct buf *b, size_t *sent);

/* Sets the epoll events of both ends to those the connection can use now. */
void relay_copy_rearm(struct relay_conn *c);

#endif
