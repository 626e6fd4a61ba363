/* text.c: fuzzes output as events: nothing is lost, no sequence is cut. */
#include <string.h>

#include "agent/api/request.h"
#include "agent/base/lines.h"
#include "common/mem.h"
#include "common/utf8.h"
#include "fuzz.h"

struct heard {
	struct buf text;
	bool valid; /* the whole input is UTF-8, so each event must be */
};

static void
hear(void *ctx, const char *text, size_t len)
{
	struct heard *h = ctx;

	PROMISE(len > 0);
	PROMISE(!h->valid || utf8_valid(text, len));
	buf_add(&h->text, text, len);
}

/* The first byte is the size of the pieces. */
int
fuzz_one(const uint8_t *data, size_t len)
{
	const char *text = (const char *)data + 1;
	size_t size = len > 0 ? data[0] % 17 + 1 : 1;
	struct heard h = { 0 };
	struct lines l = { .emit = hear, .ctx = &h };
	auto_json json_t *whole = NULL;

	if (len == 0)
		return 0;
	len--;
	h.valid = utf8_valid(text, len);
	for (size_t i = 0; i < len; i += size) {
		lines_add(&l, text + i, len - i < size ? len - i : size);
		if (data[0] & 0x80)
			lines_flush(&l);
	}
	lines_end(&l);
	PROMISE(h.text.len == len);
	PROMISE(len == 0 || memcmp(h.text.data, text, len) == 0);
	buf_free(&h.text);
	whole = json_bytes(text, len);
	PROMISE(whole != NULL);
	return 0;
}
