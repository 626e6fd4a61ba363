/*
 * answer.h: turns the answer of a request on /ws into messages.
 *
 * The output of a route (call_begin() and after) becomes one message of type
 * `response`.  An event stream becomes a `stream` message for each event and a
 * `response` at the end.  So do the bytes of a file, in base64: a file can have
 * any size, and other requests can send between its messages.  A large answer
 * is sent while the route writes it, so that it is never in memory as a whole.
 */
#ifndef SANDLEASE_AGENT_WS_ANSWER_H
#define SANDLEASE_AGENT_WS_ANSWER_H

#include <stdatomic.h>
#include <stdint.h>

#include "agent/ws/conn.h"
#include "common/sse_read.h"
#include "common/str.h"

/* How the next bytes of the route are handled. */
enum ws_stage {
	WS_HEAD,   /* collected: the header is not complete */
	WS_JSON,   /* collected for the member `body` */
	WS_STRING, /* likewise, as a JSON string */
	WS_EVENTS, /* each event is sent at once */
	WS_BYTES,  /* sent in base64, BYTES_AT at a time */
	WS_BODY,   /* part of a large `body`: sent at once, connection held */
	WS_CUT     /* dropped: an error was sent instead */
};

struct ws_answer {
	struct ws_conn *conn;
	char *id; /* of the request */
	char *quoted_id;
	const int *status; /* set before the route writes its first byte */
	bool bytes; /* the answer, unless an error, is the content of a file */
	enum ws_stage stage;
	struct buf out; /* header, then collected bytes */
	struct sse_read events;
	int64_t spoke_ms;      /* clock_ms() of the last event */
	atomic_bool cancelled; /* the client does not want the answer */
};

/* Borrows conn and status. */
void ws_answer_init(struct ws_answer *a, struct ws_conn *conn, const char *id,
    const int *status);
void ws_answer_free(struct ws_answer *a);

/* Takes output of the route.  -1: the client has gone or has cancelled. */
int ws_answer_write(struct ws_answer *a, const char *from, size_t len);

/* Sends an error, because the answer cannot be completed. */
void ws_answer_cut(struct ws_answer *a);

/* Sends the rest: the route has written everything. */
void ws_answer_finish(struct ws_answer *a);

/* Sends {type:"error"}; `id` may be NULL.  -1 when the client has gone. */
int ws_answer_error(struct ws_conn *conn, const char *id, int status,
    enum err_code code, const char *message);

#endif
