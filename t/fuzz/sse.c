/* sse.c: fuzzes event streams: events do not depend on how they were cut. */
#include <string.h>

#include "common/mem.h"
#include "common/sse_read.h"
#include "fuzz.h"

static bool
hear(void *ctx, const char *name, const char *data, size_t len)
{
	PROMISE(data[len] == '\0');
	buf_fmt(ctx, "%s|", name != NULL ? name : "");
	buf_add(ctx, data, len);
	buf_add(ctx, "\0", 1);
	return true;
}

static bool
hear_comment(void *ctx)
{
	buf_str(ctx, "[:]");
	return true;
}

int
fuzz_one(const uint8_t *data, size_t len)
{
	const char *text = (const char *)data;
	auto_buf struct buf whole = { 0 }, pieces = { 0 };
	struct sse_read a = { .event = hear,
		.comment = hear_comment,
		.ctx = &whole };
	struct sse_read b = { .event = hear,
		.comment = hear_comment,
		.ctx = &pieces };
	size_t piece = len > 0 ? 1 + data[0] % 7 : 1;

	(void)sse_read_feed(&a, text, len);
	for (size_t at = 0; at < len; at += piece)
		(void)sse_read_feed(&b, text + at,
		    len - at < piece ? len - at : piece);
	PROMISE(whole.len == pieces.len);
	PROMISE(
	    whole.len == 0 || memcmp(whole.data, pieces.data, whole.len) == 0);
	PROMISE(strcmp(a.id, b.id) == 0);
	sse_read_free(&a);
	sse_read_free(&b);
	return 0;
}
