/* ws_call.c: one request on /ws and its answer. */
#include "agent/ws_call.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/routes.h"
#include "agent/ws_answer.h"
#include "common/mem.h"
#include "web/reply.h"
#include "web/server.h"

struct ws_call {
	struct ws_request r;
	const char *session;
	char *uri;                 /* with our prefix, as nginx would say it */
	char *path;                /* likewise, decoded */
	struct buf text;           /* the body as JSON, and what is around it */
	struct bigjson_value body; /* where in there, what is not read yet */
	size_t held;               /* bytes that count in `held` below */
	char length[24];
	struct call call;
	struct ws_answer answer;
	pthread_mutex_t lock;
	int gone[2]; /* the first hangs up with the client; -1: not asked for */
};

/* ---- its body */

/* Beyond this the next large one waits; the largest fits in any case. */
enum { HELD_MAX = 128 * 1024 * 1024 };

static pthread_mutex_t held_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t held_less = PTHREAD_COND_INITIALIZER;
static size_t held;

static void
hold_body(struct ws_call *c)
{
	c->held = c->text.len;
	pthread_mutex_lock(&held_lock);
	while (held > 0 && c->held > WS_PARSED_MAX && held + c->held > HELD_MAX)
		pthread_cond_wait(&held_less, &held_lock);
	held += c->held;
	pthread_mutex_unlock(&held_lock);
}

static void
drop_body(struct ws_call *c)
{
	buf_free(&c->text);
	pthread_mutex_lock(&held_lock);
	held -= c->held;
	pthread_cond_broadcast(&held_less);
	pthread_mutex_unlock(&held_lock);
	c->held = 0;
}

static void
take_body(struct ws_call *c, struct ws_request *r, struct buf *message)
{
	c->body = r->body_text;
	if (c->body.len > 0) {
		c->text = *message;
		*message = (struct buf){ 0 };
	} else if (r->body != NULL) {
		c->text.data =
		    json_dumps(r->body, JSON_ENCODE_ANY | JSON_COMPACT);
		c->body.len = c->text.len = strlen(c->text.data);
		json_object_del(r->msg, "body");
		r->body = NULL;
	}
	snprintf(c->length, sizeof(c->length), "%zu", c->body.len);
	hold_body(c);
}

/* ---- what the routes read */

static ssize_t
io_read(void *ctx, char *to, size_t max)
{
	struct ws_call *c = ctx;

	if (max > c->body.len)
		max = c->body.len;
	if (max > 0)
		memcpy(to, c->text.data + c->body.at, max);
	c->body.at += max;
	c->body.len -= max;
	if (c->body.len == 0) /* the route has all of it now */
		drop_body(c);
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

/* ---- and what they write */

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

	pthread_mutex_lock(&c->lock);
	if (c->gone[0] < 0 &&
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, c->gone) == 0 &&
	    atomic_load(&c->answer.cancelled))
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
ws_call_new(struct ws_conn *conn, struct ws_request *r, struct buf *message,
    const char *session)
{
	struct ws_call *c = xcalloc(1, sizeof(*c));

	ws_answer_init(&c->answer, conn, r->id, &c->call.status);
	take_body(c, r, message);
	c->r = *r;
	c->session = session;
	c->gone[0] = c->gone[1] = -1;
	pthread_mutex_init(&c->lock, NULL);
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
	pthread_mutex_destroy(&c->lock);
	free(c->uri);
	free(c->path);
	drop_body(c);
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
	atomic_store(&c->answer.cancelled, true);
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

	err_set(&e, ERR_INVALID, CODE_VALIDATION_FAILED,
	    "%s %.150s goes over HTTP, not over this WebSocket", call->method,
	    call->path);
	reply_container_error(call, &e, NULL);
}

void
ws_call_run(struct ws_call *c)
{
	server_call(&c->call, &IO, c);
	if (is_elsewhere(c->r.path))
		send_elsewhere(&c->call);
	else
		routes_handle(&c->call);
	ws_answer_finish(&c->answer);
	call_release(&c->call);
}
