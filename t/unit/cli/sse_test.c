/* sse_test.c: events come out whole, however they were cut. */
#include "t/unit/unit.h"

#include <string.h>

#include "cli/sse.h"
#include "common/mem.h"

/* Events as "data|", the last id behind. */
struct heard {
	struct buf all;
	int stop_after;
};

static bool
hear(void *ctx, const char *data, size_t len)
{
	struct heard *h = ctx;

	assert_int_equal(strlen(data), len);
	buf_add(&h->all, data, len);
	buf_str(&h->all, "|");
	return h->stop_after == 0 || --h->stop_after > 0;
}

/* Feeds it in pieces of `piece` bytes. */
static bool
feed(const char *text, size_t piece, struct buf *out)
{
	struct heard h = { 0 };
	struct sse s = { .emit = hear, .ctx = &h };
	size_t len = strlen(text);
	bool ok = true;

	for (size_t at = 0; at < len && ok; at += piece)
		ok = sse_feed(&s, text + at,
		    len - at < piece ? len - at : piece);
	buf_fmt(out, "%.*s%s", (int)h.all.len,
	    h.all.data != NULL ? h.all.data : "", s.id);
	buf_free(&h.all);
	sse_free(&s);
	return ok;
}

static void
events_are_read_in_any_pieces(void **state)
{
	static const struct {
		const char *text, *want;
	} CASES[] = {
		{ "", "" },
		{ "data: a\n\n", "a|" },
		{ "data:a\n\n", "a|" },
		{ "data:  a\n\n", " a|" },
		{ "data: a\r\n\r\ndata: b\r\n\r\n", "a|b|" },
		{ "data: a\r\rdata: b\r\r", "a|b|" },
		{ "data: a\ndata: b\n\n", "a\nb|" },
		{ "data\n\n", "" },
		{ "data:\n\n", "|" },
		{ ": heartbeat\n\ndata: a\n\n", "a|" },
		{ "id: 7\ndata: a\n\n", "a|7" },
		{ "id: 7\ndata: a\n\nid:8\ndata: b\n\ndata: c\n\n", "a|b|c|8" },
		{ "event: x\nretry: 5\ndata: a\n\n", "a|" },
		{ "datax: a\n\n", "" },
		{ "data: no end\n", "" },
		{ "\n\n\ndata: a\n\n\n", "a|" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
		for (size_t piece = 1; piece < 12; piece++) {
			auto_buf struct buf got = { 0 };

			assert_true(feed(CASES[i].text, piece, &got));
			assert_string_equal(got.data, CASES[i].want);
		}
}

static void
a_listener_may_have_enough(void **state)
{
	struct heard h = { .stop_after = 1 };
	struct sse s = { .emit = hear, .ctx = &h };
	static const char TEXT[] = "data: a\n\ndata: b\n\n";

	(void)state;
	assert_false(sse_feed(&s, TEXT, sizeof(TEXT) - 1));
	assert_string_equal(h.all.data, "a|");
	buf_free(&h.all);
	sse_free(&s);
}

static void
what_was_cut_comes_again(void **state)
{
	struct heard h = { 0 };
	struct sse s = { .emit = hear, .ctx = &h };
	static const char CUT[] = "id: 1\ndata: a\n\nid: 2\ndata: b\r";
	static const char AGAIN[] = "\nid: 2\ndata: b\n\n";

	(void)state;
	assert_true(sse_feed(&s, CUT, sizeof(CUT) - 1));
	assert_string_equal(s.id, "1");
	sse_restart(&s);
	assert_true(sse_feed(&s, "\n\n", 2));
	assert_string_equal(s.id, "1");
	assert_true(sse_feed(&s, AGAIN, sizeof(AGAIN) - 1));
	assert_string_equal(s.id, "2");
	assert_string_equal(h.all.data, "a|b|");
	buf_free(&h.all);
	sse_free(&s);
}

static void
what_was_not_taken_has_not_come(void **state)
{
	struct heard h = { .stop_after = 2 };
	struct sse s = { .emit = hear, .ctx = &h };
	static const char TEXT[] = "id: 1\ndata: a\n\nid: 2\ndata: b\n\n";

	(void)state;
	assert_false(sse_feed(&s, TEXT, sizeof(TEXT) - 1));
	assert_string_equal(s.id, "1");
	buf_free(&h.all);
	sse_free(&s);
}

static void
an_event_without_end_is_refused(void **state)
{
	enum { PIECE = 65536 };
	auto_free char *piece = xmalloc(PIECE);
	struct sse s = { .emit = hear };
	size_t fed = 0;

	(void)state;
	memset(piece, 'x', PIECE);
	while (sse_feed(&s, piece, PIECE)) {
		fed += PIECE;
		assert_true(fed <= SSE_EVENT_MAX);
	}
	sse_free(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_are_read_in_any_pieces),
		cmocka_unit_test(a_listener_may_have_enough),
		cmocka_unit_test(what_was_cut_comes_again),
		cmocka_unit_test(what_was_not_taken_has_not_come),
		cmocka_unit_test(an_event_without_end_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
