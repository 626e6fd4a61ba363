/*
 * answer.h: the answer of a request on /ws, as messages.
 *
 * What the routes write (call_begin() and after) becomes one message of type
 * `response`, or for an event stream a `stream` for each event and a
 * `response` at the end.  Bytes of a file are such a stream, too, in base64, so
 * that they may be of any size and hold up nobody.  A large answer is sent while it is written, so that
 * it is nowhere whole.
 */
#ifndef SANDLEASE_AGENT_WS_ANSWER_H
#define SANDLEASE_AGENT_WS_ANSWER_H

#include <stdatomic.h>
#include <stdint.h>

#include "agent/ws/conn.h"
#include "common/sse_read.h"
#include "common/str.h"

/* How far it is. */
enum ws_stage {
	WS_HEAD,   /* its header is not complete */
	WS_JSON,   /* kept, to be the `body` */
	WS_STRING, /* likewise, as a string */
	WS_EVENTS, /* sent as it comes */
	WS_BYTES,  /* likewise, in base64 */
	WS_BODY,   /* sent as it comes, the connection is held */
	WS_CUT     /* an error has been sent instead */
};

struct ws_answer {
	struct ws_conn *conn;
	char *id; /* of the request */
	char *quoted_id;
	const int *status; /* there as soon as something is written */
	bool bytes; /* unless it is an error, it is the content of a file */
	enum ws_stage stage;
	struct buf out; /* header, then what is kept */
	struct sse_read events;
	int64_t spoke_ms;      /* of clock_ms(): the last event */
	atomic_bool cancelled; /* nobody wants it any more */
};

/* Borrows conn and status. */
void ws_answer_init(struct ws_answer *a, struct ws_conn *conn, const char *id,
    const int *status);
void ws_answer_free(struct ws_answer *a);

/* -1 when nobody is there to take it. */
int ws_answer_write(struct ws_answer *a, const char *from, size_t len);

/* It cannot be completed. */
void ws_answer_cut(struct ws_answer *a);

/* All has been written. */
void ws_answer_finish(struct ws_answer *a);

/* {type:"error"}; `id` may be NULL.  -1 when the client has gone. */
int ws_answer_error(struct ws_conn *conn, const char *id, int status,
    enum err_code code, const char *message);

#endif
