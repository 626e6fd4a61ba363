/* http_head.c: collects the headers of an HTTP/1 message from a parser. */
#include "web/http_head.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "common/mem.h"

static const struct {
	const char *name;
	enum http_role role;
} ROLES[] = {
	{ "Connection", HTTP_DROPPED },
	{ "Keep-Alive", HTTP_DROPPED },
	{ "Proxy-Connection", HTTP_DROPPED },
	{ "Proxy-Authorization", HTTP_DROPPED },
	{ "TE", HTTP_DROPPED },
	{ "Trailer", HTTP_DROPPED },
	{ "Content-Length", HTTP_LENGTH },
	{ "Transfer-Encoding", HTTP_CODING },
	{ "Upgrade", HTTP_UPGRADE },
	{ "Host", HTTP_HOST },
	{ "Expect", HTTP_EXPECT },
};

static enum http_role
role_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(ROLES); i++)
		if (strcasecmp(ROLES[i].name, name) == 0)
			return ROLES[i].role;
	return HTTP_PASSES;
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

bool
http_is_text(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];

		if ((c < ' ' && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}

int
http_add_bounded(struct buf *to, const char *data, size_t len)
{
	if (to->len + len > HTTP_HEAD_MAX)
		return -1;
	buf_add(to, data, len);
	return 0;
}

void
http_set_empty(struct buf *b)
{
	b->len = 0;
	buf_str(b, "");
}

void
http_head_reset(struct http_head *h)
{
	http_set_empty(&h->name);
	http_set_empty(&h->value);
	h->count = h->bytes = 0;
	h->in_value = h->has_length = h->has_coding = h->too_large = false;
}

void
http_head_flush_chunk(struct http_head *h, struct buf *out)
{
	if (h->chunk.len == 0)
		return;
	buf_fmt(out, "%zx\r\n", h->chunk.len);
	buf_add(out, h->chunk.data, h->chunk.len);
	buf_str(out, "\r\n");
	buf_free(&h->chunk);
}

void
http_head_free(struct http_head *h)
{
	buf_free(&h->chunk);
	buf_free(&h->name);
	buf_free(&h->value);
}

/* Notes a header that frames the body.  False: refuse the message. */
static bool
note_framing(struct http_head *h, enum http_role role)
{
	bool *seen = role == HTTP_LENGTH ? &h->has_length : &h->has_coding;

	/* if there are two, the next program could use the other one */
	if (*seen)
		return false;
	*seen = true;
	return role == HTTP_LENGTH || strcasecmp(h->value.data, "chunked") == 0;
}

int
http_head_end(struct http_head *h)
{
	enum http_role role;
	int rc;

	if (!h->in_value)
		return 0;
	h->in_value = false;
	while (h->value.len > 0 &&
	    isblank((unsigned char)h->value.data[h->value.len - 1]))
		h->value.data[--h->value.len] = '\0';
	h->bytes += h->name.len + h->value.len;
	h->too_large =
	    ++h->count > HTTP_HEADERS_MAX || h->bytes > HTTP_HEAD_MAX;
	if (h->too_large || !is_token(&h->name) ||
	    !http_is_text(h->value.data, h->value.len))
		return -1;
	role = role_of(h->name.data);
	if ((role == HTTP_LENGTH || role == HTTP_CODING) &&
	    !note_framing(h, role))
		return -1;
	rc = h->header(h->ctx, role, h->name.data, h->value.data);
	http_set_empty(&h->name);
	http_set_empty(&h->value);
	return rc;
}

static int
add_piece(struct http_head *h, struct buf *to, const char *data, size_t len)
{
	h->too_large = http_add_bounded(to, data, len) < 0;
	return h->too_large ? -1 : 0;
}

int
http_head_name(struct http_head *h, const char *data, size_t len)
{
	return http_head_end(h) < 0 ? -1 : add_piece(h, &h->name, data, len);
}

int
http_head_value(struct http_head *h, const char *data, size_t len)
{
	h->in_value = true;
	return add_piece(h, &h->value, data, len);
}
