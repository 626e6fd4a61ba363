/*
 * websocket.c: what comes over a WebSocket, and what an event stream becomes
 * on one.  The first byte says which.
 */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/ws/conn.h"
#include "agent/ws/events.h"
#include "agent/ws/request.h"
#include "common/mem.h"
#include "common/utf8.h"
#include "fuzz.h"

static void
message(const char *data, size_t len)
{
	struct ws_request r;
	struct err e = { 0 };
	int rc = ws_request_parse(data, len, &r, &e);

	PROMISE(r.id == NULL || (r.id[0] != '\0' && strlen(r.id) < WS_ID_MAX));
	PROMISE(rc == 0 || e.code != CODE_NONE);
	if (rc == 0 && !r.cancel) {
		PROMISE(r.id != NULL && r.method != NULL);
		PROMISE(r.raw[0] == '/' && r.path[0] == '/');
		PROMISE(utf8_valid(r.path, strlen(r.path)));
		for (const char *p = r.path; *p != '\0'; p++)
			PROMISE((unsigned char)*p >= ' ');
		PROMISE(strchr(r.raw, '?') != NULL || r.query[0] == '\0');
		PROMISE(ws_request_header(&r, "X-Session-Id") != NULL);
	}
	ws_request_free(&r);
}

/* ---- events */

static int
note(void *ctx, const char *name, const char *data, size_t len)
{
	struct buf *to = ctx;

	buf_fmt(to, "[%s|", name != NULL ? name : "");
	buf_add(to, data, len);
	buf_str(to, "]");
	return 0;
}

static int
note_comment(void *ctx)
{
	buf_str(ctx, "[:]");
	return 0;
}

/* They do not depend on the pieces in which they are written. */
static void
events(const char *data, size_t len)
{
	auto_buf struct buf once = { 0 }, piecewise = { 0 };
	struct ws_events a = { .event = note,
		.comment = note_comment,
		.ctx = &once };
	struct ws_events b = { .event = note,
		.comment = note_comment,
		.ctx = &piecewise };

	PROMISE(ws_events_feed(&a, data, len) == 0);
	for (size_t i = 0; i < len; i++)
		PROMISE(ws_events_feed(&b, data + i, 1) == 0);
	PROMISE(once.len == piecewise.len);
	PROMISE(
	    once.len == 0 || memcmp(once.data, piecewise.data, once.len) == 0);
	ws_events_free(&a);
	ws_events_free(&b);
}

/* ---- a packet of sandlease-ws */

static void
packet(const char *data, size_t len)
{
	auto_free struct ws_piece *p = xmalloc(sizeof(*p));
	struct ws_conn c;
	int ends[2];

	if (len == 0 || len > 1 + WSLINK_MAX)
		return;
	PROMISE(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
	PROMISE(send(ends[1], data, len, 0) == (ssize_t)len);
	ws_conn_init(&c, ends[0]);
	PROMISE(ws_receive(&c, p));
	PROMISE(p->len == len - 1 && memcmp(p->data, data + 1, p->len) == 0);
	close(ends[1]);
	PROMISE(!ws_receive(&c, p));
	PROMISE(ws_send(&c, WSLINK_TEXT, data, len) < 0);
	ws_conn_free(&c);
}

int
fuzz_one(const uint8_t *data, size_t len)
{
	static void (*const WHAT[])(const char *data, size_t len) = { message,
		events, packet };
	auto_free char *copy = xmalloc(len + 1);

	if (len == 0)
		return 0;
	memcpy(copy, data + 1, len - 1);
	copy[len - 1] = '\0';
	WHAT[data[0] % ARRAY_LEN(WHAT)](copy, len - 1);
	return 0;
}
