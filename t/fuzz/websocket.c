/*
 * websocket.c: fuzzes a client's WebSocket frames and the packets of
 * sandlease-ws.  The first byte says which of the two.
 */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/ws/conn.h"
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
		packet };
	auto_free char *copy = xmalloc(len + 1);

	if (len == 0)
		return 0;
	memcpy(copy, data + 1, len - 1);
	copy[len - 1] = '\0';
	WHAT[data[0] % ARRAY_LEN(WHAT)](copy, len - 1);
	return 0;
}
