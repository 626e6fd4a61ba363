/* reply.c: fuzzes an app's responses through the relay, in any portions. */
#include <string.h>

#include "common/mem.h"
#include "fuzz.h"
#include "web/http_reply.h"

/* The first byte says which request was made and where the rest is cut. */
enum { ASKED_HEAD = 1, ASKED_UPGRADE = 2 };

/* Feeds all bytes, then the end of the connection. */
static int
hear(struct http_reply_to to, const char *data, size_t len, size_t cut,
    struct buf *out)
{
	struct http_reply r;
	int verdict;

	http_reply_begin(&r, to);
	verdict = http_reply_take(&r, data, cut, out);
	if (verdict == HTTP_REPLY_MORE || verdict == HTTP_REPLY_UPGRADED)
		verdict = http_reply_take(&r, data + cut, len - cut, out);
	if (verdict == HTTP_REPLY_MORE)
		verdict = http_reply_close(&r, out);
	PROMISE(r.started == (out->len > 0));
	http_reply_free(&r);
	return verdict;
}

static void
check_status(const struct buf *out, bool tunnel)
{
	static const char BEGIN[] = "HTTP/1.1 ";
	const char *status = out->data + sizeof(BEGIN) - 1;

	PROMISE(out->len > sizeof(BEGIN) + 3);
	PROMISE(memcmp(out->data, BEGIN, sizeof(BEGIN) - 1) == 0);
	PROMISE(tunnel ? memcmp(status, "101 ", 4) == 0
		       : status[0] >= '2' && status[0] <= '5');
}

int
fuzz_one(const uint8_t *data, size_t len)
{
	auto_buf struct buf out = { 0 }, parts = { 0 }, again = { 0 };
	struct http_reply_to to;
	const char *said;
	size_t cut;
	int verdict;

	if (len == 0)
		return 0;
	to = (struct http_reply_to){ .head = (data[0] & ASKED_HEAD) != 0,
		.upgrade = (data[0] & ASKED_UPGRADE) != 0 };
	said = (const char *)data + 1;
	len--;
	cut = len > 0 ? data[0] % len : 0;
	verdict = hear(to, said, len, 0, &out);
	PROMISE(verdict != HTTP_REPLY_MORE);
	PROMISE(verdict == hear(to, said, len, cut, &parts));
	if (out.len == 0)
		return 0;
	check_status(&out, verdict == HTTP_REPLY_UPGRADED);
	/* the output is a valid response and passes unchanged to its end */
	if (verdict == HTTP_REPLY_REFUSED)
		return 0;
	PROMISE(hear(to, out.data, out.len, 0, &again) == verdict);
	PROMISE(
	    again.len == out.len && memcmp(again.data, out.data, out.len) == 0);
	return 0;
}
