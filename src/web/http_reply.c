/* http_reply.c: parses an HTTP/1 response and writes it anew. */
#include "web/http_reply.h"

enum { REFUSE = -1, HAS_BODY = 0, NO_BODY = 1, NO_BODY_BUT_UPGRADE = 2 };

static struct http_reply *
reply_of(const struct http_parser *p)
{
	return p->data;
}

/* Keeps a header that may be passed on. */
static int
keep_header(void *ctx, enum http_role role, const char *name, const char *value)
{
	struct http_reply *r = ctx;

	switch (role) {
	case HTTP_DROPPED:
	case HTTP_LENGTH:
	case HTTP_CODING:
		return 0;
	case HTTP_UPGRADE:
		if (r->parser.status_code != 101)
			return 0;
		break;
	case HTTP_PASSES:
	case HTTP_HOST:
	case HTTP_EXPECT:
		break;
	}
	buf_fmt(&r->headers, "%s: %s\r\n", name, value);
	return 0;
}

/* ---- callbacks of the parser; REFUSE stops it */

static int
on_begin(struct http_parser *p)
{
	struct http_reply *r = reply_of(p);

	http_set_empty(&r->reason);
	http_set_empty(&r->headers);
	http_head_reset(&r->head);
	return 0;
}

static int
on_reason(struct http_parser *p, const char *data, size_t len)
{
	return http_add_bounded(&reply_of(p)->reason, data, len);
}

static int
on_name(struct http_parser *p, const char *data, size_t len)
{
	struct http_reply *r = reply_of(p);

	/* headers after the body are trailers, which are dropped */
	return r->started ? 0 : http_head_name(&r->head, data, len);
}

static int
on_value(struct http_parser *p, const char *data, size_t len)
{
	struct http_reply *r = reply_of(p);

	return r->started ? 0 : http_head_value(&r->head, data, len);
}

static bool
is_bodiless(const struct http_reply *r)
{
	unsigned status = r->parser.status_code;

	return r->to.head || status == 204 || status == 304;
}

static bool
is_chunked(const struct http_reply *r)
{
	return r->head.has_coding && !is_bodiless(r) && !r->to.no_chunks;
}

static void
write_head(struct http_reply *r, const char *connection)
{
	unsigned status = r->parser.status_code;

	buf_fmt(r->out, "HTTP/1.1 %u %s\r\n", status, r->reason.data);
	buf_add(r->out, r->headers.data, r->headers.len);
	if (status == 101 || status == 204)
		; /* these never have a length */
	else if (is_chunked(r))
		buf_str(r->out, "Transfer-Encoding: chunked\r\n");
	else if (r->head.has_length)
		buf_fmt(r->out, "Content-Length: %llu\r\n",
		    (unsigned long long)r->parser.content_length);
	buf_fmt(r->out, "Connection: %s\r\n\r\n", connection);
	r->started = true;
}

static int
answer_upgrade(struct http_reply *r)
{
	if (!r->to.upgrade || !r->parser.upgrade)
		return REFUSE;
	write_head(r, "upgrade");
	r->upgraded = true;
	return NO_BODY_BUT_UPGRADE;
}

static int
on_head(struct http_parser *p)
{
	struct http_reply *r = reply_of(p);
	unsigned status = p->status_code;

	if (http_head_end(&r->head) < 0 || p->http_major != 1 || status < 100 ||
	    status > 599 || !http_is_text(r->reason.data, r->reason.len) ||
	    (r->head.has_coding && (r->head.has_length || p->http_minor == 0)))
		return REFUSE;
	if (status == 101)
		return answer_upgrade(r);
	if (status < 200)
		return ++r->interim_count > HTTP_REPLY_INTERIM_MAX ? REFUSE
								   : NO_BODY;
	/* without a length the body ends with the connection */
	r->keeps = r->to.keep_alive &&
	    (is_bodiless(r) || is_chunked(r) || r->head.has_length);
	write_head(r, r->keeps ? "keep-alive" : "close");
	return is_bodiless(r) ? NO_BODY : HAS_BODY;
}

static int
on_body(struct http_parser *p, const char *data, size_t len)
{
	struct http_reply *r = reply_of(p);

	buf_add(is_chunked(r) ? &r->head.chunk : r->out, data, len);
	return 0;
}

static int
on_complete(struct http_parser *p)
{
	struct http_reply *r = reply_of(p);

	if (!r->started || r->upgraded)
		return 0; /* an interim response, or now a tunnel */
	http_head_flush_chunk(&r->head, r->out);
	if (is_chunked(r))
		buf_str(r->out, "0\r\n\r\n");
	r->complete = true;
	r->server_keeps = http_should_keep_alive(p) != 0;
	http_parser_pause(p, 1); /* do not parse further bytes */
	return 0;
}

static const struct http_parser_settings CALLBACKS = {
	.on_message_begin = on_begin,
	.on_status = on_reason,
	.on_header_field = on_name,
	.on_header_value = on_value,
	.on_headers_complete = on_head,
	.on_body = on_body,
	.on_message_complete = on_complete,
};

/* ---- the interface */

void
http_reply_begin(struct http_reply *r, struct http_reply_to to)
{
	*r = (struct http_reply){ .to = to,
		.head = { .header = keep_header, .ctx = r } };
	http_parser_init(&r->parser, HTTP_RESPONSE);
	r->parser.data = r;
}

static enum http_reply_verdict
run_parser(struct http_reply *r, const char *data, size_t len, struct buf *out)
{
	size_t taken;

	if (r->complete)
		return HTTP_REPLY_COMPLETE;
	r->out = out;
	taken = http_parser_execute(&r->parser, &CALLBACKS, data, len);
	http_head_flush_chunk(&r->head, out);
	r->out = NULL;
	if (r->upgraded) {
		buf_add(out, data + taken, len - taken);
		return HTTP_REPLY_UPGRADED;
	}
	if (r->complete)
		return HTTP_REPLY_COMPLETE;
	return HTTP_PARSER_ERRNO(&r->parser) == HPE_OK ? HTTP_REPLY_MORE
						       : HTTP_REPLY_REFUSED;
}

enum http_reply_verdict
http_reply_take(struct http_reply *r, const char *data, size_t len,
    struct buf *out)
{
	if (r->upgraded) {
		buf_add(out, data, len);
		return HTTP_REPLY_UPGRADED;
	}
	if (len == 0) /* the parser would take it for the end */
		return HTTP_REPLY_MORE;
	/* the parser skips empty lines before a status line; we refuse them */
	if (!r->begun && data[0] != 'H')
		return HTTP_REPLY_REFUSED;
	r->begun = true;
	return run_parser(r, data, len, out);
}

enum http_reply_verdict
http_reply_close(struct http_reply *r, struct buf *out)
{
	if (r->upgraded)
		return HTTP_REPLY_COMPLETE;
	return run_parser(r, NULL, 0, out) == HTTP_REPLY_COMPLETE
	    ? HTTP_REPLY_COMPLETE
	    : HTTP_REPLY_REFUSED;
}

void
http_reply_free(struct http_reply *r)
{
	http_head_free(&r->head);
	buf_free(&r->reason);
	buf_free(&r->headers);
}
