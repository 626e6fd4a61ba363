/* http_reply.c: parses an HTTP/1 response and writes it anew. */
#include "web/http_reply.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "common/mem.h"

enum { REFUSE = -1, HAS_BODY = 0, NO_BODY = 1, NO_BODY_BUT_UPGRADE = 2 };

static struct http_reply *
reply_of(const struct http_parser *p)
{
	return p->data;
}

/* ---- headers */

/*
 * Headers about the connection or the framing are not passed on: the relay
 * writes its own, because they are valid for one connection only.
 */
enum role { ROLE_PASSES, ROLE_DROPPED, ROLE_LENGTH, ROLE_CODING, ROLE_UPGRADE };

static const struct {
	const char *name;
	enum role role;
} ROLES[] = {
	{ "Connection", ROLE_DROPPED },
	{ "Keep-Alive", ROLE_DROPPED },
	{ "Proxy-Connection", ROLE_DROPPED },
	{ "Trailer", ROLE_DROPPED },
	{ "Content-Length", ROLE_LENGTH },
	{ "Transfer-Encoding", ROLE_CODING },
	{ "Upgrade", ROLE_UPGRADE },
};

static enum role
role_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(ROLES); i++)
		if (strcasecmp(ROLES[i].name, name) == 0)
			return ROLES[i].role;
	return ROLE_PASSES;
}

/* The characters of RFC 9110's `token`; the parser also accepts a space. */
static bool
is_token(const struct buf *b)
{
	static const char OTHERS[] = "!#$%&'*+-.^_`|~";

	for (size_t i = 0; i < b->len; i++)
		if (!isalnum((unsigned char)b->data[i]) &&
		    memchr(OTHERS, b->data[i], sizeof(OTHERS) - 1) == NULL)
			return false;
	return b->len > 0;
}

static bool
has_no_controls(const struct buf *b)
{
	for (size_t i = 0; i < b->len; i++) {
		unsigned char c = (unsigned char)b->data[i];

		if ((c < ' ' && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}

static void
set_empty(struct buf *b)
{
	b->len = 0;
	buf_str(b, ""); /* so that data is "" and not NULL */
}

static void
trim_end(struct buf *b)
{
	while (b->len > 0 && isblank((unsigned char)b->data[b->len - 1]))
		b->data[--b->len] = '\0';
}

/* Notes a header that frames the body.  False: refuse the response. */
static bool
note_framing(struct http_reply *r, enum role role)
{
	bool *seen = role == ROLE_LENGTH ? &r->has_length : &r->has_coding;

	/* if there are two, client and relay could use different ones */
	if (*seen)
		return false;
	*seen = true;
	return role == ROLE_LENGTH || strcasecmp(r->value.data, "chunked") == 0;
}

/* Checks and keeps the header that the parser has completed. */
static int
end_header(struct http_reply *r)
{
	enum role role;

	if (!r->in_value)
		return 0;
	r->in_value = false;
	trim_end(&r->value);
	if (++r->header_count > HTTP_REPLY_HEADERS_MAX ||
	    r->headers.len + r->name.len + r->value.len > HTTP_REPLY_HEAD_MAX ||
	    !is_token(&r->name) || !has_no_controls(&r->value))
		return REFUSE;
	role = role_of(r->name.data);
	if ((role == ROLE_LENGTH || role == ROLE_CODING) &&
	    !note_framing(r, role))
		return REFUSE;
	if (role == ROLE_PASSES ||
	    (role == ROLE_UPGRADE && r->parser.status_code == 101))
		buf_fmt(&r->headers, "%s: %s\r\n", r->name.data, r->value.data);
	set_empty(&r->name);
	set_empty(&r->value);
	return 0;
}

/* ---- callbacks of the parser; REFUSE stops it */

static int
on_begin(struct http_parser *p)
{
	struct http_reply *r = reply_of(p);

	set_empty(&r->reason);
	set_empty(&r->name);
	set_empty(&r->value);
	set_empty(&r->headers);
	r->header_count = 0;
	r->in_value = r->has_length = r->has_coding = false;
	return 0;
}

static int
add_bounded(struct buf *to, const char *data, size_t len)
{
	if (to->len + len > HTTP_REPLY_HEAD_MAX)
		return REFUSE;
	buf_add(to, data, len);
	return 0;
}

static int
on_reason(struct http_parser *p, const char *data, size_t len)
{
	return add_bounded(&reply_of(p)->reason, data, len);
}

static int
on_name(struct http_parser *p, const char *data, size_t len)
{
	struct http_reply *r = reply_of(p);

	/* headers after the body are trailers, which are dropped */
	if (r->started)
		return 0;
	if (end_header(r) < 0)
		return REFUSE;
	return add_bounded(&r->name, data, len);
}

static int
on_value(struct http_parser *p, const char *data, size_t len)
{
	struct http_reply *r = reply_of(p);

	if (r->started)
		return 0;
	r->in_value = true;
	return add_bounded(&r->value, data, len);
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
	return r->has_coding && !is_bodiless(r);
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
	else if (r->has_length)
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

	if (end_header(r) < 0 || p->http_major != 1 || status < 100 ||
	    status > 599 || !has_no_controls(&r->reason) ||
	    (r->has_coding && (r->has_length || p->http_minor == 0)))
		return REFUSE;
	if (status == 101)
		return answer_upgrade(r);
	if (status < 200)
		return ++r->interim_count > HTTP_REPLY_INTERIM_MAX ? REFUSE
								   : NO_BODY;
	write_head(r, "close");
	return is_bodiless(r) ? NO_BODY : HAS_BODY;
}

static int
on_body(struct http_parser *p, const char *data, size_t len)
{
	struct http_reply *r = reply_of(p);

	if (len == 0)
		return 0;
	if (is_chunked(r))
		buf_fmt(r->out, "%zx\r\n", len);
	buf_add(r->out, data, len);
	if (is_chunked(r))
		buf_str(r->out, "\r\n");
	return 0;
}

static int
on_complete(struct http_parser *p)
{
	struct http_reply *r = reply_of(p);

	if (!r->started || r->upgraded)
		return 0; /* an interim response, or now a tunnel */
	if (is_chunked(r))
		buf_str(r->out, "0\r\n\r\n");
	r->complete = true;
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
	*r = (struct http_reply){ .to = to };
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
	buf_free(&r->reason);
	buf_free(&r->name);
	buf_free(&r->value);
	buf_free(&r->headers);
}
