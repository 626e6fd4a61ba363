/* sse_read_test.c: tests that events are read whole from pieces of any size. */
#include "t/unit/unit.h"

#include <string.h>

#include "common/mem.h"
#include "common/sse_read.h"

/* Events as "data|" or "name=data|", comments as ":|", the last id behind. */
struct heard {
	struct buf all;
	int stop_after;
};

static bool
hear(void *ctx, const char *name, const char *data, size_t len)
{
	struct heard *h = ctx;

	assert_int_equal(strlen(data), len);
	if (name != NULL)
		buf_fmt(&h->all, "%s=", name);
	buf_add(&h->all, data, len);
	buf_str(&h->all, "|");
	return h->stop_after == 0 || --h->stop_after > 0;
}

static bool
hear_comment(void *ctx)
{
	struct heard *h = ctx;

	buf_str(&h->all, ":|");
	return h->stop_after == 0 || --h->stop_after > 0;
}

/* Feeds the text in pieces of `piece` bytes. */
static bool
feed(const char *text, size_t piece, struct buf *out)
{
	struct heard h = { 0 };
	struct sse_read s = { .event = hear, .ctx = &h };
	size_t len = strlen(text);
	bool ok = true;

	for (size_t at = 0; at < len && ok; at += piece)
		ok = sse_read_feed(&s, text + at,
		    len - at < piece ? len - at : piece);
	buf_fmt(out, "%.*s%s", (int)h.all.len,
	    h.all.data != NULL ? h.all.data : "", s.id);
	buf_free(&h.all);
	sse_read_free(&s);
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
		{ "event: x\nretry: 5\ndata: a\n\n", "x=a|" },
		{ "event: x\n\ndata: a\n\n", "a|" },
		{ "event: x\nevent: y\ndata: a\n\ndata: b\n\n", "y=a|b|" },
		{ "event:\ndata: a\n\n", "a|" },
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
comments_are_told_to_who_asks(void **state)
{
	struct heard h = { 0 };
	struct sse_read s = { .event = hear,
		.comment = hear_comment,
		.ctx = &h };
	static const char TEXT[] = ": ka\n\ndata: a\n:x\n\n: b\n";

	(void)state;
	assert_true(sse_read_feed(&s, TEXT, sizeof(TEXT) - 1));
	assert_string_equal(h.all.data, ":|:|a|:|");
	h.stop_after = 1;
	assert_false(sse_read_feed(&s, TEXT, sizeof(TEXT) - 1));
	buf_free(&h.all);
	sse_read_free(&s);
}

static void
a_listener_may_have_enough(void **state)
{
	struct heard h = { .stop_after = 1 };
	struct sse_read s = { .event = hear, .ctx = &h };
	static const char TEXT[] = "data: a\n\ndata: b\n\n";

	(void)state;
	assert_false(sse_read_feed(&s, TEXT, sizeof(TEXT) - 1));
	assert_string_equal(h.all.data, "a|");
	buf_free(&h.all);
	sse_read_free(&s);
}

static void
what_was_cut_comes_again(void **state)
{
	struct heard h = { 0 };
	struct sse_read s = { .event = hear, .ctx = &h };
	static const char CUT[] = "id: 1\ndata: a\n\nid: 2\ndata: b\r";
	static const char AGAIN[] = "\nid: 2\ndata: b\n\n";

	(void)state;
	assert_true(sse_read_feed(&s, CUT, sizeof(CUT) - 1));
	assert_string_equal(s.id, "1");
	sse_read_restart(&s);
	assert_true(sse_read_feed(&s, "\n\n", 2));
	assert_string_equal(s.id, "1");
	assert_true(sse_read_feed(&s, AGAIN, sizeof(AGAIN) - 1));
	assert_string_equal(s.id, "2");
	assert_string_equal(h.all.data, "a|b|");
	buf_free(&h.all);
	sse_read_free(&s);
}

static void
what_was_not_taken_has_not_come(void **state)
{
	struct heard h = { .stop_after = 2 };
	struct sse_read s = { .event = hear, .ctx = &h };
	static const char TEXT[] = "id: 1\ndata: a\n\nid: 2\ndata: b\n\n";

	(void)state;
	assert_false(sse_read_feed(&s, TEXT, sizeof(TEXT) - 1));
	assert_string_equal(s.id, "1");
	buf_free(&h.all);
	sse_read_free(&s);
}

static void
an_event_without_end_is_refused(void **state)
{
	enum { PIECE = 65536, MAX = 8 * 1024 * 1024 };
	auto_free char *piece = xmalloc(PIECE);
	struct sse_read s = { .event = hear, .max = MAX };
	size_t fed = 0;

	(void)state;
	memset(piece, 'x', PIECE);
	while (sse_read_feed(&s, piece, PIECE)) {
		fed += PIECE;
		assert_true(fed <= MAX);
	}
	sse_read_free(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_are_read_in_any_pieces),
		cmocka_unit_test(comments_are_told_to_who_asks),
		cmocka_unit_test(a_listener_may_have_enough),
		cmocka_unit_test(what_was_cut_comes_again),
		cmocka_unit_test(what_was_not_taken_has_not_come),
		cmocka_unit_test(an_event_without_end_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
