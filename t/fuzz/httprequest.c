/*
 * httprequest.c: fuzzes requests of a sandbox, in any portions.
 *
 * The output has the same requests again, in the same framing, and no header
 * that the input had not.
 */
#include <string.h>

#include "common/mem.h"
#include "fuzz.h"
#include "web/http_request.h"

static const struct http_added SECRET = { "x-api-key", "s3cret" };

struct heard {
	struct buf out;  /* complete requests, as they are passed on */
	struct buf flat; /* the same without the sizes of chunks */
	size_t complete; /* requests; and so many bytes of `out` are theirs */
	size_t bytes;
	size_t headers; /* of the request with most */
	enum http_request_verdict verdict;
	bool tunnel;
};

static void
heard_free(struct heard *h)
{
	buf_free(&h->out);
	buf_free(&h->flat);
}

/* Adds the contents of chunks, and a mark at their end. */
static void
flatten(struct buf *flat, const char *piece, size_t len)
{
	const char *end = piece + len;

	while (piece < end) {
		char *data;
		size_t size = strtoul(piece, &data, 16);

		PROMISE(data > piece && data + size + 4 <= end);
		PROMISE(memcmp(data, "\r\n", 2) == 0);
		PROMISE(memcmp(data + 2 + size, "\r\n", 2) == 0);
		buf_add(flat, data + 2, size);
		if (size == 0)
			buf_str(flat, "(end)");
		PROMISE(size > 0 || data + 4 == end);
		piece = data + size + 4;
	}
}

static void
pass_head(struct http_request *r, struct heard *h, struct buf *piece)
{
	if (h->headers < r->head.count)
		h->headers = r->head.count;
	h->tunnel = r->connect;
	if (r->connect)
		return;
	PROMISE(r->method != NULL && r->path.len > 0);
	http_request_pass(r, "up.example", false, &SECRET, 1, piece);
	buf_add(&h->flat, piece->data, piece->len);
}

static void
hear_portion(struct http_request *r, struct heard *h, const char *data,
    size_t len)
{
	size_t used = 0;

	for (size_t at = 0; at < len && !(h->tunnel && r->complete);
	     at += used) {
		auto_buf struct buf piece = { 0 };

		buf_str(&piece, "");
		h->verdict =
		    http_request_take(r, data + at, len - at, &used, &piece);
		PROMISE(used <= len - at);
		if (h->verdict == HTTP_REQUEST_HEAD)
			pass_head(r, h, &piece);
		else if (r->head.has_coding)
			flatten(&h->flat, piece.data, piece.len);
		else
			buf_add(&h->flat, piece.data, piece.len);
		buf_add(&h->out, piece.data, piece.len);
		if (h->verdict == HTTP_REQUEST_REFUSED)
			return;
		if (h->verdict == HTTP_REQUEST_COMPLETE) {
			h->complete++;
			h->bytes = h->out.len;
		}
	}
}

static void
hear(struct heard *h, const char *data, size_t len, size_t cut)
{
	struct http_request r;

	http_request_begin(&r);
	hear_portion(&r, h, data, cut);
	if (h->verdict != HTTP_REQUEST_REFUSED)
		hear_portion(&r, h, data + cut, len - cut);
	PROMISE(h->verdict != HTTP_REQUEST_HEAD);
	http_request_free(&r);
}

/* The first byte says where the rest is cut. */
int
fuzz_one(const uint8_t *data, size_t len)
{
	struct heard whole = { .verdict = HTTP_REQUEST_MORE };
	struct heard parts = whole, again = whole;
	const char *sent = (const char *)data + 1;

	if (len == 0)
		return 0;
	len--;
	hear(&whole, sent, len, len);
	hear(&parts, sent, len, data[0] * len / 256);
	PROMISE(whole.verdict == parts.verdict);
	PROMISE(whole.complete == parts.complete);
	PROMISE(whole.flat.len == parts.flat.len);
	PROMISE(whole.flat.len == 0 ||
	    memcmp(whole.flat.data, parts.flat.data, whole.flat.len) == 0);
	/* headers of ours may make a head too large to be read again */
	if (whole.bytes > 0 && !whole.tunnel &&
	    whole.headers < HTTP_HEADERS_MAX - 8 &&
	    whole.bytes < HTTP_HEAD_MAX / 2) {
		hear(&again, whole.out.data, whole.bytes, whole.bytes);
		PROMISE(again.verdict == HTTP_REQUEST_COMPLETE);
		PROMISE(again.complete == whole.complete);
		PROMISE(again.bytes == whole.bytes);
		PROMISE(
		    memcmp(again.out.data, whole.out.data, whole.bytes) == 0);
		/* Host, Connection and the secret may be new */
		PROMISE(again.headers <= whole.headers + 3);
	}
	heard_free(&whole);
	heard_free(&parts);
	heard_free(&again);
	return 0;
}
