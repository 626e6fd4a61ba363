/* call.c: runs one request on /ws through the routes. */
#include "agent/ws/call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/api/routes.h"
#include "agent/base/lock.h"
#include "agent/ws/answer.h"
#include "agent/ws/body.h"
#include "common/mem.h"
#include "web/reply.h"
#include "web/server.h"

enum { FILE_BLOCK = 64 * 1024 };

struct ws_call {
	struct ws_request r;
	const char *session;
	char *uri;  /* with our prefix, as nginx would pass it */
	char *path; /* likewise, decoded */
	struct ws_body body;
	bool bad_body; /* the route wants bytes, and the body has none */
	char length[24];
	struct call call;
	struct ws_answer answer;
	struct lock lock;
	int gone[2]; /* [0] hangs up when the client leaves; -1: not made */
};

static bool
is_below(const char *path, const char *const *routes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (str_starts(path, routes[i]) &&
		    strchr("/", path[strlen(routes[i])]) != NULL)
			return true;
	return false;
}

/* Routes whose bodies and answers are bytes. */
static bool
carries_bytes(const char *path)
{
	static const char *const ROUTES[] = { "/files", "/archive" };

	return is_below(path, ROUTES, ARRAY_LEN(ROUTES));
}

/* ---- input of the routes */

static ssize_t
io_read(void *ctx, char *to, size_t max)
{
	struct ws_call *c = ctx;

	return ws_body_read(&c->body, to, max);
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
		{ "CONTENT_TYPE",
		    carries_bytes(c->r.path) ? "application/octet-stream"
					     : "application/json" },
		{ "CONTENT_LENGTH", c->length },
	};
	/* the headers of nginx/wrapper.params.in that a route uses */
	static const struct {
		const char *name, *header;
	} HEADERS[] = {
		{ "HTTP_ACCEPT", "Accept" },
		{ "HTTP_IDEMPOTENCY_KEY", "Idempotency-Key" },
		{ "HTTP_RANGE", "Range" },
		{ "HTTP_IF_MATCH", "If-Match" },
		{ "HTTP_IF_NONE_MATCH", "If-None-Match" },
		{ "HTTP_IF_MODIFIED_SINCE", "If-Modified-Since" },
		{ "HTTP_IF_UNMODIFIED_SINCE", "If-Unmodified-Since" },
		{ "HTTP_IF_RANGE", "If-Range" },
		{ "HTTP_CONTENT_RANGE", "Content-Range" },
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

/* ---- output of the routes */

static int
io_write(void *ctx, const char *from, size_t len)
{
	struct ws_call *c = ctx;

	return ws_answer_write(&c->answer, from, len);
}

static int
io_flush(void *ctx)
{
	(void)ctx;
	return 0;
}

static int
io_send_file(void *ctx, int fd, off_t from, int64_t len)
{
	auto_free char *block = xmalloc(FILE_BLOCK);

	while (len > 0) {
		size_t want = len < FILE_BLOCK ? (size_t)len : FILE_BLOCK;
		ssize_t n = pread(fd, block, want, from);

		if (n <= 0 || io_write(ctx, block, (size_t)n) < 0)
			return -1;
		from += n;
		len -= n;
	}
	return 0;
}

static void
io_cut(void *ctx)
{
	struct ws_call *c = ctx;

	ws_answer_cut(&c->answer);
}

static int
io_fd(void *ctx)
{
	struct ws_call *c = ctx;
	int fd;

	lock_take(&c->lock);
	if (c->gone[0] < 0 &&
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, c->gone) == 0 &&
	    atomic_load(&c->answer.cancelled))
		close(take_fd(&c->gone[1]));
	fd = c->gone[0];
	lock_drop(&c->lock);
	return fd;
}

static const struct call_io IO = {
	.read = io_read,
	.write = io_write,
	.flush = io_flush,
	.param = io_param,
	.fd = io_fd,
	.cut = io_cut,
	.send_file = io_send_file,
};

/* ---- begin and end */

struct ws_call *
ws_call_new(struct ws_conn *conn, struct ws_request *r, struct buf *message,
    const char *session)
{
	struct ws_call *c = xcalloc(1, sizeof(*c));

	ws_answer_init(&c->answer, conn, r->id, &c->call.status);
	c->bad_body =
	    !ws_body_take(&c->body, r, message, carries_bytes(r->path));
	snprintf(c->length, sizeof(c->length), "%zu", c->body.left.len);
	c->answer.bytes = carries_bytes(r->path) &&
	    (str_equal(r->method, "GET") || str_equal(r->method, "HEAD"));
	c->r = *r;
	c->session = session;
	c->gone[0] = c->gone[1] = -1;
	lock_init(&c->lock, LOCK_WS_CALL);
	c->uri = xasprintf("/v1/sessions/%s%s", session, r->raw);
	c->path = xasprintf("/v1/sessions/%s%s", session, r->path);
	*r = (struct ws_request){ 0 };
	return c;
}

void
ws_call_free(struct ws_call *c)
{
	for (size_t i = 0; i < ARRAY_LEN(c->gone); i++)
		mem_close_fd(&c->gone[i]);
	ws_request_free(&c->r);
	ws_answer_free(&c->answer);
	lock_destroy(&c->lock);
	free(c->uri);
	free(c->path);
	ws_body_free(&c->body);
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
	lock_take(&c->lock);
	atomic_store(&c->answer.cancelled, true);
	mem_close_fd(&c->gone[1]);
	lock_drop(&c->lock);
}

/* Routes that the wrapper does not have, or that messages cannot carry. */
static bool
is_elsewhere(const char *path)
{
	static const char *const ROUTES[] = { "/api/expose-port",
		"/api/exposed-ports", "/proxy", "/ws", "/api/ws" };

	return is_below(path, ROUTES, ARRAY_LEN(ROUTES));
}

static void
reply_refusal(struct ws_call *c)
{
	struct err e = { 0 };

	if (c->bad_body)
		err_field(&e, "body",
		    "must be a string, in base64 if encoding is base64");
	else
		err_set(&e, ERR_INVALID, CODE_VALIDATION_FAILED,
		    "%s %.150s needs HTTP; it cannot be sent over this WebSocket",
		    c->call.method, c->call.path);
	reply_container_error(&c->call, &e, NULL);
}

void
ws_call_run(struct ws_call *c)
{
	server_call(&c->call, &IO, c);
	if (c->bad_body || is_elsewhere(c->r.path))
		reply_refusal(c);
	else
		routes_handle(&c->call);
	ws_answer_finish(&c->answer);
	call_release(&c->call);
}
