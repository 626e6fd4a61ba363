/* http_request.c: parses HTTP/1 requests and writes them anew. */
#include "web/http_request.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/mem.h"

enum { REFUSE = -1 };

static struct http_request *
request_of(const struct http_parser *p)
{
	return p->data;
}

/* ---- the head */

static bool
set_once(char *to, size_t size, const char *value)
{
	return to[0] == '\0' && value[0] != '\0' && str_copy(to, size, value);
}

/* Keeps a header that may be passed on. */
static int
keep_header(void *ctx, enum http_role role, const char *name, const char *value)
{
	struct http_request *r = ctx;

	switch (role) {
	case HTTP_DROPPED:
	case HTTP_LENGTH:
	case HTTP_CODING:
		return 0;
	case HTTP_HOST:
		/* a server might look at another Host than we do */
		return set_once(r->host, sizeof(r->host), value) ? 0 : REFUSE;
	case HTTP_UPGRADE:
		return set_once(r->upgrade, sizeof(r->upgrade), value) ? 0
								       : REFUSE;
	case HTTP_EXPECT:
		if (strcasecmp(value, "100-continue") != 0)
			return REFUSE;
		r->wants_continue = true;
		return 0;
	case HTTP_PASSES:
		break;
	}
	buf_fmt(&r->headers, "%s: %s\r\n", name, value);
	return 0;
}

/* Splits an absolute target into authority and path. */
static bool
split_absolute(struct http_request *r, const char *rest)
{
	size_t len = strcspn(rest, "/?#");

	if (len == 0 || len >= sizeof(r->authority))
		return false;
	memcpy(r->authority, rest, len);
	r->authority[len] = '\0';
	if (rest[len] != '/')
		buf_str(&r->path, "/");
	buf_str(&r->path, rest + len);
	return true;
}

/* The four forms of a target: RFC 9112, section 3.2. */
static bool
read_target(struct http_request *r)
{
	const char *url = r->url.data;

	http_set_empty(&r->path);
	for (size_t i = 0; i < r->url.len; i++)
		if ((unsigned char)url[i] <= ' ' ||
		    (unsigned char)url[i] >= 0x7f)
			return false;
	if (strchr(url, '#') != NULL)
		return false;
	if (r->connect)
		return str_copy(r->authority, sizeof(r->authority), url);
	if (strncasecmp(url, "http://", 7) == 0)
		return split_absolute(r, url + 7);
	if (strncasecmp(url, "https://", 8) == 0) {
		r->https = true;
		return split_absolute(r, url + 8);
	}
	if (url[0] != '/' &&
	    !(str_equal(url, "*") && r->parser.method == HTTP_OPTIONS))
		return false;
	buf_str(&r->path, url);
	return true;
}

/* ---- callbacks of the parser; REFUSE stops it */

static int
on_begin(struct http_parser *p)
{
	struct http_request *r = request_of(p);

	http_head_reset(&r->head);
	http_set_empty(&r->url);
	http_set_empty(&r->headers);
	r->headed = r->complete = r->connect = r->wants_continue = false;
	r->wants_upgrade = r->https = false;
	r->host[0] = r->authority[0] = r->upgrade[0] = '\0';
	return 0;
}

static int
on_url(struct http_parser *p, const char *data, size_t len)
{
	struct http_request *r = request_of(p);

	if (r->url.len + len > HTTP_TARGET_MAX) {
		r->too_large = true;
		return REFUSE;
	}
	buf_add(&r->url, data, len);
	return 0;
}

/* Headers after the body are trailers, which are dropped. */
static int
on_name(struct http_parser *p, const char *data, size_t len)
{
	struct http_request *r = request_of(p);

	return r->headed ? 0 : http_head_name(&r->head, data, len);
}

static int
on_value(struct http_parser *p, const char *data, size_t len)
{
	struct http_request *r = request_of(p);

	return r->headed ? 0 : http_head_value(&r->head, data, len);
}

/*
 * Whether the framing has one meaning, and the parser sees the same: it
 * forgets "chunked" when the line is continued on the next one.
 */
static bool
is_framed_once(const struct http_request *r)
{
	const struct http_parser *p = &r->parser;
	bool chunked = (p->flags & F_CHUNKED) != 0;

	if (r->head.has_coding)
		return chunked && !r->head.has_length && !r->connect &&
		    p->http_minor > 0;
	return !chunked && !(r->connect && r->head.has_length);
}

static int
on_head(struct http_parser *p)
{
	struct http_request *r = request_of(p);

	r->method = http_method_str((enum http_method)p->method);
	r->connect = p->method == HTTP_CONNECT;
	if (http_head_end(&r->head) < 0 || p->http_major != 1 ||
	    !is_framed_once(r) || !read_target(r))
		return REFUSE;
	/* HTTP/1.1 demands a Host; nothing else names the server here */
	if (p->http_minor > 0 && r->host[0] == '\0' && r->authority[0] == '\0')
		return REFUSE;
	/* with a body, its end would be the begin of the other protocol */
	r->wants_upgrade = p->upgrade && p->method == HTTP_GET &&
	    !r->head.has_length && !r->head.has_coding &&
	    strcasecmp(r->upgrade, "websocket") == 0;
	/* else the parser would stop at the head, and the body be lost */
	if (!r->connect)
		p->upgrade = 0;
	r->headed = true;
	http_parser_pause(p, 1); /* the owner decides */
	return 0;
}

static int
on_body(struct http_parser *p, const char *data, size_t len)
{
	struct http_request *r = request_of(p);

	buf_add(r->head.has_coding ? &r->head.chunk : r->out, data, len);
	return 0;
}

static int
on_complete(struct http_parser *p)
{
	struct http_request *r = request_of(p);

	http_head_flush_chunk(&r->head, r->out);
	if (r->head.has_coding)
		buf_str(r->out, "0\r\n\r\n");
	r->complete = true;
	http_parser_pause(p, 1);
	return 0;
}

static const struct http_parser_settings CALLBACKS = {
	.on_message_begin = on_begin,
	.on_url = on_url,
	.on_header_field = on_name,
	.on_header_value = on_value,
	.on_headers_complete = on_head,
	.on_body = on_body,
	.on_message_complete = on_complete,
};

/* ---- the interface */

void
http_request_begin(struct http_request *r)
{
	*r = (struct http_request){ .head = { .header = keep_header,
					.ctx = r } };
	http_parser_init(&r->parser, HTTP_REQUEST);
	r->parser.data = r;
}

void
http_request_free(struct http_request *r)
{
	http_head_free(&r->head);
	buf_free(&r->url);
	buf_free(&r->headers);
	buf_free(&r->path);
}

enum http_request_verdict
http_request_take(struct http_request *r, const char *data, size_t len,
    size_t *used, struct buf *out)
{
	bool headed = r->headed;

	*used = 0;
	if (r->refused)
		return HTTP_REQUEST_REFUSED;
	if (len == 0) /* to the parser it would be the end of the connection */
		return HTTP_REQUEST_MORE;
	if (r->complete) { /* of the last request */
		r->complete = r->headed = r->begun = headed = false;
	}
	/* the parser skips empty lines before a request; a server might not */
	r->refused = !r->begun && !isupper((unsigned char)data[0]);
	if (r->refused)
		return HTTP_REQUEST_REFUSED;
	r->begun = true;
	http_parser_pause(&r->parser, 0);
	r->out = out;
	*used = http_parser_execute(&r->parser, &CALLBACKS, data, len);
	if (out != NULL)
		http_head_flush_chunk(&r->head, out);
	r->out = NULL;
	/* the parser stops at the head's last byte, and takes any for it */
	if (r->headed && !headed) {
		r->refused = data[*used] != '\n';
		return r->refused ? HTTP_REQUEST_REFUSED : HTTP_REQUEST_HEAD;
	}
	if (r->complete)
		return HTTP_REQUEST_COMPLETE;
	if (HTTP_PARSER_ERRNO(&r->parser) == HPE_OK)
		return HTTP_REQUEST_MORE;
	r->refused = true;
	r->too_large = r->too_large || r->head.too_large ||
	    HTTP_PARSER_ERRNO(&r->parser) == HPE_HEADER_OVERFLOW;
	return HTTP_REQUEST_REFUSED;
}

/* Whether the line "Name: value" has a name that is being added. */
static bool
is_replaced(const char *line, const struct http_added *added, size_t count)
{
	size_t len = strcspn(line, ":");

	for (size_t i = 0; i < count; i++)
		if (strlen(added[i].name) == len &&
		    strncasecmp(added[i].name, line, len) == 0)
			return true;
	return false;
}

void
http_request_pass(struct http_request *r, const char *host, bool close,
    const struct http_added *added, size_t count, struct buf *out)
{
	const char *next;

	buf_fmt(out, "%s %s HTTP/1.1\r\nHost: %s\r\n", r->method, r->path.data,
	    host);
	for (const char *line = r->headers.data; *line != '\0'; line = next) {
		next = strstr(line, "\r\n") + 2;
		if (!is_replaced(line, added, count))
			buf_add(out, line, (size_t)(next - line));
	}
	for (size_t i = 0; i < count; i++)
		buf_fmt(out, "%s: %s\r\n", added[i].name, added[i].value);
	if (r->head.has_coding)
		buf_str(out, "Transfer-Encoding: chunked\r\n");
	else if (r->head.has_length)
		buf_fmt(out, "Content-Length: %llu\r\n",
		    (unsigned long long)r->parser.content_length);
	if (r->wants_upgrade)
		buf_fmt(out, "Connection: upgrade\r\nUpgrade: %s\r\n\r\n",
		    r->upgrade);
	else
		buf_fmt(out, "Connection: %s\r\n\r\n",
		    close ? "close" : "keep-alive");
}

bool
http_method_begins(const char *data, size_t len)
{
	static const char *const METHODS[] = {
#define NAME(number, name, string) #string,
		HTTP_METHOD_MAP(NAME)
#undef NAME
	};

	for (size_t i = 0; i < ARRAY_LEN(METHODS); i++)
		if (strlen(METHODS[i]) >= len &&
		    strncasecmp(METHODS[i], data, len) == 0)
			return true;
	return false;
}

bool
http_request_keeps(const struct http_request *r)
{
	return http_should_keep_alive(&r->parser) != 0;
}

bool
http_authority(const char *text, uint16_t fallback, const char **host,
    size_t *host_len, uint16_t *port)
{
	const char *end;
	int64_t number = fallback;

	*host = text;
	if (text[0] == '[') {
		end = strchr(text, ']');
		if (end == NULL)
			return false;
		*host = text + 1;
		*host_len = (size_t)(end - *host);
		/* brackets are for IPv6 alone */
		if (memchr(*host, ':', *host_len) == NULL)
			return false;
		end++;
	} else {
		end = text + strcspn(text, ":");
		*host_len = (size_t)(end - text);
	}
	if (*end == ':' && !str_to_int(end + 1, 1, UINT16_MAX, &number))
		return false;
	*port = (uint16_t)number;
	return *host_len > 0 && (*end == '\0' || *end == ':');
}
