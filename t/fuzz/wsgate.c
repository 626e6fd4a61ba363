/* wsgate.c: fuzzes messages of clients and wrappers on /ws, in any portions. */
#include <string.h>

#include "api/stream/ws_gate.h"
#include "common/mem.h"
#include "fuzz.h"

static struct ws_gate *
connected(void)
{
	static const char HEAD[] =
	    "GET /ws HTTP/1.1\r\nX-Sandlease-Authorization: Bearer k\r\n\r\n";
	static const char REPLY[] = "HTTP/1.1 101 X\r\n\r\n";
	struct ws_gate *g = xcalloc(1, sizeof(*g));
	auto_buf struct buf ignored = { 0 };
	const char *data = HEAD;
	size_t len = sizeof(HEAD) - 1;

	PROMISE(ws_gate_take_head(g, &data, &len) == 1 && len == 0);
	ws_gate_from_wrapper(g, REPLY, sizeof(REPLY) - 1, &ignored);
	return g;
}

/* The gate answers a request at once; its answer does not go to the wrapper. */
static void
feed(struct ws_gate *g, const char *data, size_t len, struct buf *up,
    struct buf *down)
{
	static const struct buf NOTHING;

	while (ws_gate_from_client(g, &data, &len, up)) {
		auto_buf struct buf params = { 0 };

		PROMISE(g->asked != NULL);
		ws_gate_params(g, "s", &params);
		ws_gate_answer(g, &NOTHING, down);
		PROMISE(g->asked == NULL);
	}
	PROMISE(len == 0);
}

static void
same(const struct buf *a, const struct buf *b)
{
	PROMISE(a->len == b->len);
	PROMISE(a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

int
fuzz_one(const uint8_t *data, size_t len)
{
	const char *bytes = (const char *)data;
	size_t cut = len > 0 ? data[0] % len : 0;
	auto_buf struct buf up = { 0 }, up_parts = { 0 };
	auto_buf struct buf down = { 0 }, down_parts = { 0 };
	auto_buf struct buf passed = { 0 };
	struct ws_gate *one = connected(), *two = connected();

	feed(one, bytes, len, &up, &down);
	feed(two, bytes, cut, &up_parts, &down_parts);
	feed(two, bytes + cut, len - cut, &up_parts, &down_parts);
	same(&up, &up_parts);
	same(&down, &down_parts);
	/* all bytes of the wrapper pass, except an incomplete header */
	ws_gate_from_wrapper(one, bytes, len, &passed);
	PROMISE(passed.len + one->down.have * !one->down.in_frame == len);
	PROMISE(passed.len == 0 || memcmp(passed.data, bytes, passed.len) == 0);
	ws_gate_free(one);
	ws_gate_free(two);
	return 0;
}
