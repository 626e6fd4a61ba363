/* answer.c: turns the answer of a request on /ws into messages. */
#include "agent/ws/answer.h"

#include <stdlib.h>
#include <string.h>

#include "common/base64.h"
#include "common/clock.h"
#include "common/json.h"
#include "common/mem.h"
#include "common/utf8.h"

enum {
	SEND_AT = 256 * 1024, /* smaller answers are sent as a whole */
	STRING_MAX = 1024 * 1024,
	BYTES_AT = 48 * 1024, /* bytes of a file in one message */
	/* the SDK ends a stream that is silent for 300 s */
	SILENT_MS = 240 * 1000
};

/* ---- messages */

int
ws_answer_error(struct ws_conn *conn, const char *id, int status,
    enum err_code code, const char *message)
{
	auto_json json_t *o = json_pack("{s:s, s:s*, s:s, s:o, s:i}", "type",
	    "error", "id", id, "code", code_capitals(code), "message",
	    json_lossy(message), "status", status);
	auto_free char *text = json_text(o);

	return ws_send(conn, WSLINK_TEXT, text, strlen(text));
}

static void
add_quoted(struct buf *b, const char *text, size_t len)
{
	buf_str(b, "\"");
	utf8_json(b, text, len);
	buf_str(b, "\"");
}

/* False: the client has gone or has cancelled the request. */
static bool
send_event(void *ctx, const char *name, const char *data, size_t len)
{
	struct ws_answer *a = ctx;
	auto_buf struct buf m = { 0 };

	if (atomic_load(&a->cancelled))
		return false;
	buf_fmt(&m, "{\"type\":\"stream\",\"id\":%s", a->quoted_id);
	if (name != NULL) {
		buf_str(&m, ",\"event\":");
		add_quoted(&m, name, strlen(name));
	}
	buf_str(&m, ",\"data\":");
	add_quoted(&m, data, len);
	buf_str(&m, "}");
	a->spoke_ms = clock_ms();
	return ws_send(a->conn, WSLINK_TEXT, m.data, m.len) == 0;
}

/*
 * Most heartbeats are dropped: the WebSocket's pings keep the connection alive.
 * A stream that is silent for SILENT_MS gets an event.  The event is JSON,
 * because clients parse every event.
 */
static bool
send_heartbeat(void *ctx)
{
	static const char BEAT[] = "{\"type\":\"heartbeat\"}";
	struct ws_answer *a = ctx;

	if (atomic_load(&a->cancelled))
		return false;
	if (clock_left_ms(a->spoke_ms + SILENT_MS) > 0)
		return true;
	return send_event(a, "heartbeat", BEAT, sizeof(BEAT) - 1);
}

/*
 * Sends whole groups of three bytes, except at the end, so that clients can
 * decode each message's base64 by itself.
 */
static int
send_bytes(struct ws_answer *a, bool last)
{
	size_t len = last ? a->out.len : a->out.len - a->out.len % 3;
	auto_buf struct buf m = { 0 };

	if (len == 0)
		return 0;
	if (atomic_load(&a->cancelled))
		return -1;
	buf_fmt(&m,
	    "{\"type\":\"stream\",\"id\":%s,\"encoding\":\"base64\",\"data\":\"",
	    a->quoted_id);
	base64_encode(&m, a->out.data, len);
	buf_str(&m, "\"}");
	memmove(a->out.data, a->out.data + len, a->out.len - len);
	a->out.len -= len;
	return ws_send(a->conn, WSLINK_TEXT, m.data, m.len);
}

static int
send_part(struct ws_answer *a, const char *data, size_t len, bool last)
{
	return ws_send_part(a->conn, WSLINK_TEXT, data, len, last);
}

/* Until end_response() no other thread can send on this connection. */
static int
begin_response(struct ws_answer *a, bool with_body)
{
	auto_buf struct buf m = { 0 };

	buf_fmt(&m, "{\"type\":\"response\",\"id\":%s,\"status\":%d%s",
	    a->quoted_id, *a->status, with_body ? ",\"body\":" : "");
	ws_hold(a->conn);
	return send_part(a, m.data, m.len, false);
}

static void
end_response(struct ws_answer *a)
{
	static const char END[] = ",\"done\":true}";

	(void)!send_part(a, END, sizeof(END) - 1, true);
	ws_let_go(a->conn);
}

/* ---- output of the routes */

void
ws_answer_cut(struct ws_answer *a)
{
	if (a->stage == WS_BODY) {
		/* nothing can follow half a message: close the connection */
		ws_close(a->conn, WS_INTERNAL, "an answer was cut off");
		ws_let_go(a->conn);
	} else if (a->stage != WS_CUT) {
		ws_answer_error(a->conn, a->id, 500,
		    a->stage == WS_EVENTS || a->stage == WS_BYTES
			? CODE_STREAM_ERROR
			: CODE_INTERNAL_ERROR,
		    "the answer could not be completed");
	}
	a->stage = WS_CUT;
}

static int
write_body(struct ws_answer *a, const char *from, size_t len)
{
	if (a->stage == WS_BODY)
		return send_part(a, from, len, false);
	if (a->stage == WS_STRING && a->out.len + len > STRING_MAX) {
		ws_answer_cut(a);
		return -1;
	}
	buf_add(&a->out, from, len);
	if (a->stage == WS_STRING || a->out.len < SEND_AT)
		return 0;
	a->stage = WS_BODY;
	if (begin_response(a, true) < 0 ||
	    send_part(a, a->out.data, a->out.len, false) < 0)
		return -1;
	buf_free(&a->out);
	return 0;
}

/* The stage after `head`, the HTTP header that call_begin() wrote. */
static enum ws_stage
stage_after(const struct ws_answer *a, const char *head)
{
	if (a->bytes && *a->status < 400)
		return WS_BYTES;
	if (strstr(head, "\r\nContent-Type: text/event-stream") != NULL)
		return WS_EVENTS;
	return strstr(head, "\r\nContent-Type: application/json") != NULL
	    ? WS_JSON
	    : WS_STRING;
}

static int
write_head(struct ws_answer *a, const char *from, size_t len)
{
	static const char END[] = "\r\n\r\n";
	auto_buf struct buf head = { 0 };
	const char *rest;

	buf_add(&a->out, from, len);
	rest = strstr(a->out.data, END);
	if (rest == NULL)
		return 0;
	head = a->out;
	a->out = (struct buf){ 0 };
	a->stage = stage_after(a, head.data);
	a->spoke_ms = clock_ms();
	rest += sizeof(END) - 1;
	return ws_answer_write(a, rest, (size_t)(head.data + head.len - rest));
}

int
ws_answer_write(struct ws_answer *a, const char *from, size_t len)
{
	/* a message that has begun must be completed */
	if (a->stage != WS_BODY && atomic_load(&a->cancelled))
		return -1;
	if (len == 0)
		return 0;
	switch (a->stage) {
	case WS_HEAD:
		return write_head(a, from, len);
	case WS_EVENTS:
		return sse_read_feed(&a->events, from, len) ? 0 : -1;
	case WS_BYTES:
		buf_add(&a->out, from, len);
		return a->out.len < BYTES_AT ? 0 : send_bytes(a, false);
	case WS_JSON:
	case WS_STRING:
	case WS_BODY:
		return write_body(a, from, len);
	case WS_CUT:
	default:
		return -1;
	}
}

/* ---- begin and end */

void
ws_answer_init(struct ws_answer *a, struct ws_conn *conn, const char *id,
    const int *status)
{
	struct buf quoted = { 0 };

	add_quoted(&quoted, id, strlen(id));
	a->conn = conn;
	a->id = xstrdup(id);
	a->quoted_id = quoted.data;
	a->status = status;
	a->stage = WS_HEAD;
	a->events.event = send_event;
	a->events.comment = send_heartbeat;
	a->events.ctx = a;
	atomic_init(&a->cancelled, false);
}

void
ws_answer_free(struct ws_answer *a)
{
	sse_read_free(&a->events);
	buf_free(&a->out);
	free(a->id);
	free(a->quoted_id);
}

void
ws_answer_finish(struct ws_answer *a)
{
	auto_buf struct buf quoted = { 0 };
	const struct buf *body = &a->out;

	if (a->stage == WS_BODY) {
		end_response(a);
		return;
	}
	if (a->stage == WS_CUT || atomic_load(&a->cancelled))
		return;
	if (a->stage == WS_HEAD) {
		ws_answer_cut(a); /* the route wrote no answer */
		return;
	}
	if (a->stage == WS_BYTES && send_bytes(a, true) < 0)
		return;
	if (a->stage == WS_STRING && a->out.len > 0) {
		add_quoted(&quoted, a->out.data, a->out.len);
		body = &quoted;
	}
	if (begin_response(a, body->len > 0) == 0 && body->len > 0)
		(void)!send_part(a, body->data, body->len, false);
	end_response(a);
}
