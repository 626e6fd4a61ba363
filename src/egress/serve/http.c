/*
 * http.c: requests of a client in HTTP/1, each decided by itself.
 *
 * Requests and responses are written anew (web/http_request.h,
 * web/http_reply.h), and a secret header is added to those for its host.  A
 * connection to a server serves one client and one host.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/mem.h"
#include "common/str.h"
#include "egress/serve/http.h"

enum {
	IDLE_MS = 60 * 1000, /* for the next request */
	HANDSHAKE_MS = 10 * 1000,
	HUNG_UP_MS = 10 * 1000, /* for the next bytes of the response */
	HEAD_BYTES = 16 * 1024, /* of one read, before a request is allowed */
	ROUNDS = 4, /* reads in a row, of bytes that are not parsed */
	CHUNKED_BYTES =
	    16384,       /* one read of others; no less than a record of TLS */
	SECRETS_MAX = 20 /* of one session */
};

/* clang-format off */
static const struct {
	int status;
	const char *reason;
} REASONS[] = {
	{ 400, "Bad Request" },
	{ 403, "Forbidden" },
	{ 429, "Too Many Requests" },
	{ 431, "Request Header Fields Too Large" },
	{ 502, "Bad Gateway" },
};
/* clang-format on */

/* ---- answers of our own */

static const char *
reason_of(int status)
{
	for (size_t i = 0; i < ARRAY_LEN(REASONS); i++)
		if (REASONS[i].status == status)
			return REASONS[i].reason;
	return "Error";
}

static bool
refuse(struct conn *c, int status, const char *text)
{
	struct http *h = c->http;
	auto_buf struct buf out = { 0 };

	if (h->reply.started)
		return false;
	buf_fmt(&out,
	    "HTTP/1.1 %d %s\r\nContent-Type: text/plain\r\n"
	    "Content-Length: %zu\r\nConnection: close\r\n\r\n",
	    status, reason_of(status), strlen(text) + 1);
	if (h->request.method == NULL || !str_equal(h->request.method, "HEAD"))
		buf_fmt(&out, "%s\n", text);
	return side_write(&c->client, out.data, out.len) == 0;
}

static void
refuse_request(struct conn *c)
{
	conn_deny(c,
	    c->http->request.too_large ? DENY_TOO_LARGE : DENY_BAD_REQUEST,
	    NULL);
}

/* ---- reading */

/* Parses what was read; body bytes go to `out`. */
static enum http_request_verdict
parse(struct http *h, struct buf *out)
{
	size_t used;
	enum http_request_verdict v =
	    http_request_take(&h->request, h->in.data, h->in.len, &used, out);

	memmove(h->in.data, h->in.data + used, h->in.len - used);
	h->in.len -= used;
	return v;
}

/* An idle connection keeps no memory for bytes. */
static void
forget_room(struct http *h)
{
	if (h->in.len == 0)
		buf_free(&h->in);
}

/*
 * How much of a body is read in one turn.  Chunks are parsed, and a byte of
 * theirs may cost as much as a thousand others.
 */
static size_t
turn_bytes(const struct conn *c, const struct http_head *h)
{
	return h->has_coding              ? CHUNKED_BYTES
	    : serve_is_crowded(c->of->of) ? SERVE_TURN_BYTES
					  : SERVE_READ_MAX;
}

static int
turn_rounds(const struct conn *c, const struct http_head *h)
{
	return h->has_coding || serve_is_crowded(c->of->of) ? 1 : ROUNDS;
}

/* Reads bytes of the client.  0: none now.  -1: broken. */
static ssize_t
read_client(struct conn *c)
{
	struct egress *g = c->of->of;
	ssize_t n = side_read(&c->client, g->read_buffer,
	    c->http->stage == STAGE_HEAD
		? HEAD_BYTES
		: turn_bytes(c, &c->http->request.head));

	if (n > 0) {
		buf_add(&c->http->in, g->read_buffer, (size_t)n);
		c->of->use.bytes_out += n;
		budget_take(c->of, (size_t)n);
	}
	return n;
}

/* ---- stages; each returns 1 if the next one can be tried, 0, or -1 */

static int
step_head(struct conn *c)
{
	struct http *h = c->http;
	enum http_request_verdict v = HTTP_REQUEST_MORE;
	bool secured = c->client.tls_done;
	int rc = side_handshake(&c->client);

	if ((c->client.tls_done && !secured) || c->timer.index == 0)
		conn_give_up_after(c, IDLE_MS);
	if (rc <= 0)
		return rc;
	while (v == HTTP_REQUEST_MORE) {
		ssize_t n;

		if (h->in.len > 0)
			v = parse(h, NULL);
		if (v != HTTP_REQUEST_MORE)
			break;
		n = read_client(c);
		if (n < 0)
			return -1;
		if (n == 0 && c->client.ended)
			conn_leave(c); /* with what it has been sent */
		if (n == 0)
			return 0;
	}
	if (v != HTTP_REQUEST_HEAD) {
		refuse_request(c);
		return 0;
	}
	if (!target_find(c))
		return 0;
	h->keep = http_request_keeps(&h->request);
	h->paid = false;
	h->stage = STAGE_ASK;
	return 1;
}

/* The headers that are added for this host; returns their number. */
static size_t
find_secrets(const struct conn *c, struct http_added added[SECRETS_MAX])
{
	const struct session *s = c->of;
	size_t count = 0;

	for (size_t i = 0; i < s->secret_count && count < SECRETS_MAX; i++)
		if (str_equal(s->secrets[i].host, c->host) &&
		    (s->secrets[i].plain || c->http->kind == HTTP_IN_TLS))
			added[count++] =
			    (struct http_added){ .name = s->secrets[i].header,
				    .value = s->secrets[i].value };
	return count;
}

/* The tunnel is open: what the client says in it is looked at. */
static int
open_tunnel(struct conn *c)
{
	static const char OPEN[] =
	    "HTTP/1.1 200 Connection established\r\n\r\n";

	if (side_write(&c->client, OPEN, sizeof(OPEN) - 1) < 0)
		return -1;
	c->speaks = SPEAKS_UNKNOWN;
	if (look_first(c))
		conn_give_up_after(c, SERVE_FIRST_MS);
	return 0;
}

static int
begin_exchange(struct conn *c)
{
	static const char CONTINUE[] = "HTTP/1.1 100 Continue\r\n\r\n";
	struct http *h = c->http;
	const struct http_request *r = &h->request;
	struct http_added added[SECRETS_MAX];
	auto_buf struct buf out = { 0 };
	char host[HTTP_HOST_TEXT_MAX];

	loop_clear(&c->of->of->loop, &c->timer);
	if (r->connect)
		return open_tunnel(c);
	target_host(c, host);
	http_request_pass(&h->request, host, !h->keep || h->kind == HTTP_PROXY,
	    added, find_secrets(c, added), &out);
	http_reply_free(&h->reply);
	http_reply_begin(&h->reply,
	    (struct http_reply_to){ .head = str_equal(r->method, "HEAD"),
		.upgrade = r->wants_upgrade,
		.keep_alive = h->keep,
		.no_chunks = r->parser.http_minor == 0 });
	h->stage = STAGE_EXCHANGE;
	h->unheard = false;
	if (c->client.hung_up)
		conn_give_up_after(c, HUNG_UP_MS);
	if (r->wants_continue && r->parser.http_minor > 0 &&
	    side_write(&c->client, CONTINUE, sizeof(CONTINUE) - 1) < 0)
		return -1;
	return side_write(&c->server, out.data, out.len) < 0 ? -1 : 1;
}

/* Whether the connection of the last request can be used again. */
static bool
is_alive(const struct conn *c)
{
	char byte;

	return recv(c->server.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
	    errno == EAGAIN;
}

/* 1: the server can be sent to; 0: not yet, or the connection has ended. */
static int
secure_server(struct conn *c)
{
	char why[SERVE_TEXT_MAX];
	int rc = 1;

	if (c->http->kind != HTTP_IN_TLS)
		return 1;
	if (c->server.ssl == NULL) {
		conn_give_up_after(c, HANDSHAKE_MS);
		rc = terminate_server(c) ? 1 : -1;
	}
	if (rc == 1)
		rc = side_handshake(&c->server);
	if (rc < 0) {
		terminate_why(c, why, sizeof(why));
		conn_fail(c, why);
		return 0;
	}
	if (rc == 1)
		loop_clear(&c->of->of->loop, &c->timer);
	return rc;
}

static int
step_ask(struct conn *c)
{
	struct http *h = c->http;
	int rc;

	if (!h->paid && !conn_count(c))
		return 0;
	h->paid = true;
	if (c->upstream == UPSTREAM_OPEN && h->reused && !is_alive(c))
		upstream_close(c, false);
	if (c->upstream == UPSTREAM_NONE) {
		h->reused = false;
		upstream_connect(c);
		return 0;
	}
	if (c->upstream != UPSTREAM_OPEN)
		return 0;
	rc = secure_server(c);
	return rc == 1 ? begin_exchange(c) : rc;
}

/* Passes the rest of the request on. */
static int
pass_up(struct conn *c)
{
	struct http *h = c->http;
	int reads = 0;

	while (!h->request.complete) {
		auto_buf struct buf out = { 0 };
		enum http_request_verdict v;

		if (h->in.len == 0) {
			ssize_t n;

			if (side_pending(&c->server) || !budget_left(c->of) ||
			    reads++ == turn_rounds(c, &h->request.head))
				return 0;
			n = read_client(c);
			if (n < 0 || (n == 0 && c->client.ended))
				return -1;
			if (n == 0) {
				forget_room(h);
				return 0;
			}
		}
		v = parse(h, &out);
		if (v == HTTP_REQUEST_REFUSED) {
			refuse_request(c);
			return 0;
		}
		if (side_write(&c->server, out.data, out.len) < 0) {
			h->unheard = true;
			return 0;
		}
	}
	return 0;
}

/* The response is complete. */
static int
end_exchange(struct conn *c)
{
	struct http *h = c->http;

	if (!h->reply.keeps || !h->request.complete) {
		conn_leave(c);
		return 0;
	}
	h->reused = h->kind != HTTP_PROXY && h->reply.server_keeps;
	if (!h->reused)
		upstream_close(c, false);
	http_reply_free(&h->reply);
	http_reply_begin(&h->reply, (struct http_reply_to){ 0 });
	h->stage = STAGE_HEAD;
	forget_room(h);
	conn_wait_for_reader(c, IDLE_MS);
	return 1;
}

/* Both sides have agreed to another protocol: its bytes pass unchanged. */
static int
become_raw(struct conn *c)
{
	c->speaks = SPEAKS_RAW;
	return side_write(&c->server, c->http->in.data, c->http->in.len);
}

/*
 * Whether the server has closed a connection that was used before, just when
 * the request was sent: then it was not read, and can be sent again.
 */
static bool
may_repeat(const struct http *h)
{
	return h->reused && !h->reply.begun && !h->request.head.has_length &&
	    !h->request.head.has_coding;
}

/* Reads of the server and parses; *v says how far the response is. */
static int
hear_server(struct conn *c, enum http_reply_verdict *v, bool *more)
{
	struct http *h = c->http;
	struct egress *g = c->of->of;
	auto_buf struct buf out = { 0 };
	ssize_t n = side_read(&c->server, g->read_buffer,
	    h->reply.started ? turn_bytes(c, &h->reply.head) : CHUNKED_BYTES);

	*more = n > 0;
	*v = HTTP_REPLY_MORE;
	if (n > 0) {
		if (c->client.hung_up)
			conn_give_up_after(c, HUNG_UP_MS);
		c->of->use.bytes_in += n;
		budget_take(c->of, (size_t)n);
		/* an answer before the end of the request is the last one */
		h->reply.to.keep_alive = h->keep && h->request.complete;
		*v =
		    http_reply_take(&h->reply, g->read_buffer, (size_t)n, &out);
	} else if (n < 0) {
		*v = HTTP_REPLY_REFUSED; /* cut short, whatever has arrived */
	} else if (c->server.ended) {
		*v = http_reply_close(&h->reply, &out);
	}
	return side_write(&c->client, out.data, out.len);
}

static int
pass_down(struct conn *c)
{
	bool more = true;

	for (int i = 0; more && i < turn_rounds(c, &c->http->reply.head); i++) {
		enum http_reply_verdict v;

		if (side_pending(&c->client) || !budget_left(c->of))
			return 0;
		if (hear_server(c, &v, &more) < 0)
			return -1;
		switch (v) {
		case HTTP_REPLY_MORE:
			break;
		case HTTP_REPLY_COMPLETE:
			return end_exchange(c);
		case HTTP_REPLY_UPGRADED:
			return become_raw(c);
		case HTTP_REPLY_REFUSED:
			if (may_repeat(c->http)) {
				upstream_close(c, false);
				c->http->stage = STAGE_ASK;
				return 1;
			}
			if (c->http->reply.started)
				conn_cut(c);
			else
				conn_fail(c,
				    "the server's response is cut short or not HTTP");
			return 0;
		}
	}
	return 0;
}

static int
step_exchange(struct conn *c)
{
	struct http *h = c->http;

	if (side_flush(&c->server) < 0)
		h->unheard = true;
	if (!h->unheard && pass_up(c) < 0)
		return -1;
	return c->of != NULL && !c->leaving ? pass_down(c) : 0;
}

static int
step(struct conn *c)
{
	int rc = 1;

	if (side_flush(&c->client) < 0)
		return -1;
	/* the client has gone, or only says that no request follows */
	if (c->client.hung_up && c->http->stage != STAGE_HEAD &&
	    c->timer.index == 0)
		conn_give_up_after(c, HUNG_UP_MS);
	while (rc == 1) {
		switch (c->http->stage) {
		case STAGE_HEAD:
			rc = step_head(c);
			break;
		case STAGE_ASK:
			rc = step_ask(c);
			break;
		case STAGE_EXCHANGE:
			rc = step_exchange(c);
			break;
		}
	}
	return rc;
}

/* ---- the protocol */

static bool
wants_client(struct conn *c)
{
	const struct http *h = c->http;

	if (h->stage == STAGE_HEAD)
		return true;
	return h->stage == STAGE_EXCHANGE && !h->request.complete &&
	    !h->unheard && !side_pending(&c->server) && budget_left(c->of);
}

static bool
wants_server(struct conn *c)
{
	if (c->http->stage == STAGE_ASK)
		return c->server.ssl != NULL && !c->server.tls_done;
	return c->http->stage == STAGE_EXCHANGE && !side_pending(&c->client) &&
	    budget_left(c->of);
}

static void
release(struct conn *c)
{
	struct http *h = TAKE(c->http);

	http_request_free(&h->request);
	http_reply_free(&h->reply);
	buf_free(&h->in);
	free(h);
}

static const struct protocol HTTP = { .step = step,
	.wants_client = wants_client,
	.wants_server = wants_server,
	.refuse = refuse,
	.release = release };

void
http_open(struct conn *c, enum http_kind kind)
{
	struct http *h = xcalloc(1, sizeof(*h));

	h->kind = kind;
	http_request_begin(&h->request);
	http_reply_begin(&h->reply, (struct http_reply_to){ 0 });
	c->http = h;
	c->protocol = &HTTP;
	/* the first request is paid for with the connection */
	c->counted = c->counted || c->upstream != UPSTREAM_NONE;
	c->client.tells_end = true;
}
