/* ws_call.c: one request on /ws and its answer. */
#include "agent/ws_call.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/routes.h"
#include "agent/ws_events.h"
#include "common/mem.h"
#include "common/utf8.h"
#include "web/reply.h"
#include "web/server.h"

enum {
	SEND_AT = 256 * 1024, /* of an answer; less is sent at its end */
	TEXT_MAX = 1024 * 1024
};

/* How far the answer is. */
enum stage {
	STAGE_HEAD,   /* its header is not complete */
	STAGE_JSON,   /* kept, to be the `body` */
	STAGE_TEXT,   /* likewise, as a string */
	STAGE_EVENTS, /* sent as it comes */
	STAGE_BODY,   /* sent as it comes, the connection is held */
	STAGE_CUT     /* an error has been sent instead */
};

struct ws_call {
	struct ws_conn *conn;
	struct ws_request r;
	const char *session;
	char *id;   /* as JSON */
	char *uri;  /* with our prefix, as nginx would say it */
	char *path; /* likewise, decoded */
	char *body; /* as JSON; NULL: none */
	size_t body_len, body_at;
	char length[24];
	struct call call;
	enum stage stage;
	struct buf out; /* header, then what is kept of the answer */
	struct ws_events events;
	pthread_mutex_t lock;
	bool cancelled;
	int gone[2]; /* the first hangs up with the client; -1: not asked for */
};

/* ---- messages */

int
ws_call_error(struct ws_conn *conn, const char *id, int status,
    const char *code, const char *message)
{
	auto_json json_t *o =
	    json_pack("{s:s, s:s*, s:s, s:o, s:i}", "type", "error", "id", id,
		"code", code, "message", json_lossy(message), "status", status);
	auto_free char *text = json_text(o);

	return ws_send(conn, WSLINK_TEXT, text, strlen(text));
}

static bool
is_cancelled(struct ws_call *c)
{
	bool is;

	pthread_mutex_lock(&c->lock);
	is = c->cancelled;
	pthread_mutex_unlock(&c->lock);
	return is;
}

/* An event of the stream.  An empty one says that the stream lives. */
static int
send_event(void *ctx, const char *name, const char *data, size_t len)
{
	struct ws_call *c = ctx;
	auto_buf struct buf m = { 0 };

	if (is_cancelled(c))
		return -1;
	buf_fmt(&m, "{\"type\":\"stream\",\"id\":%s", c->id);
	if (name != NULL) {
		buf_str(&m, ",\"event\":\"");
		utf8_json(&m, name, strlen(name));
		buf_str(&m, "\"");
	}
	buf_str(&m, ",\"data\":\"");
	utf8_json(&m, data, len);
	buf_str(&m, "\"}");
	return ws_send(c->conn, WSLINK_TEXT, m.data, m.len);
}

static int
send_part(struct ws_call *c, const char *data, size_t len, bool last)
{
	return ws_send_part(c->conn, WSLINK_TEXT, data, len, last);
}

/* From here to end_response() nobody else sends. */
static int
begin_response(struct ws_call *c, bool with_body)
{
	auto_buf struct buf m = { 0 };

	buf_fmt(&m, "{\"type\":\"response\",\"id\":%s,\"status\":%d%s", c->id,
	    c->call.status, with_body ? ",\"body\":" : "");
	ws_hold(c->conn);
	return send_part(c, m.data, m.len, false);
}

static void
end_response(struct ws_call *c)
{
	static const char END[] = ",\"done\":true}";

	(void)!send_part(c, END, sizeof(END) - 1, true);
	ws_let_go(c->conn);
}

/* ---- what the routes write */

static void
as_string(struct buf *b)
{
	struct buf text = { 0 };

	buf_str(&text, "\"");
	utf8_json(&text, b->data, b->len);
	buf_str(&text, "\"");
	buf_free(b);
	*b = text;
}

/* The answer cannot be completed. */
static void
io_cut(void *ctx)
{
	struct ws_call *c = ctx;
	bool stream = c->stage == STAGE_EVENTS;

	if (c->stage == STAGE_BODY) {
		ws_let_go(c->conn);
		ws_close(c->conn, WS_INTERNAL, "an answer was cut off");
	} else {
		ws_call_error(c->conn, c->r.id, 500,
		    stream ? "STREAM_ERROR" : "INTERNAL_ERROR",
		    "the answer could not be completed");
	}
	c->stage = STAGE_CUT;
}

static int
write_body(struct ws_call *c, const char *from, size_t len)
{
	if (c->stage == STAGE_BODY)
		return send_part(c, from, len, false);
	if (c->stage == STAGE_TEXT && c->out.len + len > TEXT_MAX) {
		io_cut(c);
		return -1;
	}
	buf_add(&c->out, from, len);
	if (c->stage == STAGE_TEXT || c->out.len < SEND_AT)
		return 0;
	c->stage = STAGE_BODY;
	if (begin_response(c, true) < 0 ||
	    send_part(c, c->out.data, c->out.len, false) < 0)
		return -1;
	buf_free(&c->out);
	return 0;
}

/* call_begin() has written this; what matters is what follows. */
static enum stage
stage_after(const char *head)
{
	if (strstr(head, "\r\nContent-Type: text/event-stream") != NULL)
		return STAGE_EVENTS;
	return strstr(head, "\r\nContent-Type: application/json") != NULL
	    ? STAGE_JSON
	    : STAGE_TEXT;
}

static int write_answer(struct ws_call *c, const char *from, size_t len);

static int
write_head(struct ws_call *c, const char *from, size_t len)
{
	static const char END[] = "\r\n\r\n";
	auto_buf struct buf head = { 0 };
	char *end;

	buf_add(&c->out, from, len);
	end = strstr(c->out.data, END);
	if (end == NULL)
		return 0;
	head = c->out;
	c->out = (struct buf){ 0 };
	c->stage = stage_after(head.data);
	/* a client may wait for the first one before it goes on */
	if (c->stage == STAGE_EVENTS && send_event(c, NULL, "", 0) < 0)
		return -1;
	end += sizeof(END) - 1;
	return write_answer(c, end, (size_t)(head.data + head.len - end));
}

static int
write_answer(struct ws_call *c, const char *from, size_t len)
{
	if (len == 0)
		return 0;
	switch (c->stage) {
	case STAGE_HEAD:
		return write_head(c, from, len);
	case STAGE_EVENTS:
		return ws_events_feed(&c->events, from, len);
	case STAGE_JSON:
	case STAGE_TEXT:
	case STAGE_BODY:
		return write_body(c, from, len);
	case STAGE_CUT:
	default:
		return -1;
	}
}

static int
io_write(void *ctx, const char *from, size_t len)
{
	struct ws_call *c = ctx;

	/* what has begun as one message has to be whole */
	if (c->stage != STAGE_BODY && is_cancelled(c))
		return -1;
	return write_answer(c, from, len);
}

static int
io_flush(void *ctx)
{
	(void)ctx;
	return 0;
}

/* ---- what they read */

static ssize_t
io_read(void *ctx, char *to, size_t max)
{
	struct ws_call *c = ctx;
	size_t left = c->body_len - c->body_at;

	if (max > left)
		max = left;
	if (max > 0)
		memcpy(to, c->body + c->body_at, max);
	c->body_at += max;
	if (c->body_at == c->body_len) {
		/* whoever reads it has it now */
		free(TAKE(c->body));
		c->body_len = c->body_at = 0;
	}
	return (ssize_t)max;
}

static const char *
io_param(void *ctx, const char *name)
{
	const struct ws_call *c = ctx;
	const struct {
		const char *name, *value;
	} PARAMS[] = {
		{ "REQUEST_METHOD", c->r.method },
		{ "REQUEST_URI", c->uri },
		{ "SL_PATH", c->path },
		{ "QUERY_STRING", c->r.query },
		{ "SL_SESSION", c->session },
		{ "CONTENT_TYPE", "application/json" },
		{ "CONTENT_LENGTH", c->length },
	};
	/* those of nginx/wrapper.params.in that a route looks at */
	static const struct {
		const char *name, *header;
	} HEADERS[] = {
		{ "HTTP_ACCEPT", "Accept" },
		{ "HTTP_LAST_EVENT_ID", "Last-Event-ID" },
		{ "HTTP_X_SESSION_ID", "X-Session-Id" },
		{ "HTTP_X_TRACE_ID", "X-Trace-Id" },
		{ "HTTP_TRACEPARENT", "Traceparent" },
	};

	for (size_t i = 0; i < ARRAY_LEN(PARAMS); i++)
		if (str_equal(PARAMS[i].name, name))
			return PARAMS[i].value;
	for (size_t i = 0; i < ARRAY_LEN(HEADERS); i++)
		if (str_equal(HEADERS[i].name, name))
			return ws_request_header(&c->r, HEADERS[i].header);
	return NULL;
}

static int
io_fd(void *ctx)
{
	struct ws_call *c = ctx;
	int fd;

	pthread_mutex_lock(&c->lock);
	if (c->gone[0] < 0 &&
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, c->gone) == 0 &&
	    c->cancelled)
		close(take_fd(&c->gone[1]));
	fd = c->gone[0];
	pthread_mutex_unlock(&c->lock);
	return fd;
}

static const struct call_io IO = {
	.read = io_read,
	.write = io_write,
	.flush = io_flush,
	.param = io_param,
	.fd = io_fd,
	.cut = io_cut,
};

/* ---- its life */

struct ws_call *
ws_call_new(struct ws_conn *conn, struct ws_request *r, const char *session)
{
	struct ws_call *c = xcalloc(1, sizeof(*c));
	auto_json json_t *id = json_string(r->id);

	c->conn = conn;
	c->r = *r;
	c->session = session;
	c->gone[0] = c->gone[1] = -1;
	c->events.event = send_event;
	c->events.ctx = c;
	pthread_mutex_init(&c->lock, NULL);
	c->id = json_dumps(id, JSON_ENCODE_ANY | JSON_COMPACT);
	c->uri = xasprintf("/v1/sessions/%s%s", session, r->raw);
	c->path = xasprintf("/v1/sessions/%s%s", session, r->path);
	if (r->body != NULL) {
		c->body = json_dumps(r->body, JSON_ENCODE_ANY | JSON_COMPACT);
		c->body_len = strlen(c->body);
		json_object_del(r->msg, "body");
	}
	c->r.body = NULL;
	snprintf(c->length, sizeof(c->length), "%zu", c->body_len);
	*r = (struct ws_request){ 0 };
	return c;
}

void
ws_call_free(struct ws_call *c)
{
	for (size_t i = 0; i < ARRAY_LEN(c->gone); i++)
		mem_close_fd(&c->gone[i]);
	ws_request_free(&c->r);
	ws_events_free(&c->events);
	buf_free(&c->out);
	pthread_mutex_destroy(&c->lock);
	free(c->id);
	free(c->uri);
	free(c->path);
	free(c->body);
	free(c);
}

const char *
ws_call_id(const struct ws_call *c)
{
	return c->r.id;
}

void
ws_call_cancel(struct ws_call *c)
{
	pthread_mutex_lock(&c->lock);
	c->cancelled = true;
	mem_close_fd(&c->gone[1]);
	pthread_mutex_unlock(&c->lock);
}

/* What is not the wrapper's, or no JSON either way. */
static bool
is_elsewhere(const char *path)
{
	static const char *const ELSEWHERE[] = { "/api/expose-port",
		"/api/exposed-ports", "/proxy", "/files", "/archive", "/ws",
		"/api/ws" };

	for (size_t i = 0; i < ARRAY_LEN(ELSEWHERE); i++)
		if (str_starts(path, ELSEWHERE[i]) &&
		    strchr("/", path[strlen(ELSEWHERE[i])]) != NULL)
			return true;
	return false;
}

static void
send_elsewhere(struct call *call)
{
	struct err e = { 0 };

	err_set(&e, ERR_INVALID, "validation_failed",
	    "%s %.150s goes over HTTP, not over this WebSocket", call->method,
	    call->path);
	reply_container_error(call, &e, NULL);
}

static void
finish(struct ws_call *c)
{
	if (c->stage == STAGE_CUT ||
	    (c->stage != STAGE_BODY && is_cancelled(c)))
		return;
	if (c->stage == STAGE_HEAD) {
		io_cut(c); /* nobody has answered */
		return;
	}
	if (c->stage == STAGE_TEXT && c->out.len > 0)
		as_string(&c->out);
	if (c->stage != STAGE_BODY && begin_response(c, c->out.len > 0) == 0 &&
	    c->out.len > 0)
		(void)!send_part(c, c->out.data, c->out.len, false);
	end_response(c);
}

void
ws_call_run(struct ws_call *c)
{
	server_call(&c->call, &IO, c);
	if (is_elsewhere(c->r.path))
		send_elsewhere(&c->call);
	else
		routes_handle(&c->call);
	finish(c);
	call_release(&c->call);
}
