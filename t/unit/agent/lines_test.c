/* lines_test.c: tests that a stream of bytes becomes events of whole lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <time.h>

#include "agent/base/lines.h"
#include "common/mem.h"

static void
note(void *ctx, const char *text, size_t len)
{
	struct buf *b = ctx;

	buf_str(b, "[");
	buf_add(b, text, len);
	buf_str(b, "]");
}

static void
lines_go_out_when_they_are_whole(void **state)
{
	static const struct {
		const char *in[4];
		const char *before_flush, *after_flush, *after_end;
	} CASES[] = {
		{ { "a\nb\n" }, "[a\n][b\n]", "[a\n][b\n]", "[a\n][b\n]" },
		{ { "a", "b\nc" }, "[ab\n]", "[ab\n][c]", "[ab\n][c]" },
		{ { "h\xc3" }, "", "[h]", "[h][\xc3]" },
		{ { "h\xc3", "\xa9\n" }, "[h\xc3\xa9\n]", "[h\xc3\xa9\n]",
		    "[h\xc3\xa9\n]" },
		{ { "\n\n" }, "[\n][\n]", "[\n][\n]", "[\n][\n]" },
		{ { "" }, "", "", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		auto_buf struct buf out = { 0 };
		struct lines l = { .emit = note, .ctx = &out };

		buf_str(&out, "");
		for (int k = 0; k < 4 && CASES[i].in[k] != NULL; k++)
			lines_add(&l, CASES[i].in[k], strlen(CASES[i].in[k]));
		assert_string_equal(out.data, CASES[i].before_flush);
		lines_flush(&l);
		assert_string_equal(out.data, CASES[i].after_flush);
		lines_end(&l);
		assert_string_equal(out.data, CASES[i].after_end);
	}
}

struct tally {
	size_t events, bytes, longest;
};

static void
count(void *ctx, const char *text, size_t len)
{
	struct tally *t = ctx;

	(void)text;
	t->events++;
	t->bytes += len;
	if (len > t->longest)
		t->longest = len;
}

static void
a_line_without_end_goes_out_in_pieces(void **state)
{
	struct tally t = { 0 };
	struct lines l = { .emit = count, .ctx = &t };
	char block[1000];

	(void)state;
	/* characters of three bytes, so every piece of LINES_MAX cuts one */
	for (size_t i = 0; i < sizeof(block); i++)
		block[i] = "\xe2\x82\xac"[i % 3];
	for (int i = 0; i < 300; i++)
		lines_add(&l, block, 999);
	lines_end(&l);
	assert_int_equal(t.bytes, 300 * 999);
	assert_true(t.longest <= LINES_MAX);
	assert_true(t.events >= 5 && t.events <= 7);
}

static void
nothing_waits_longer_than_its_time(void **state)
{
	static const struct timespec WAIT = { .tv_nsec =
						  LINES_WAIT_MS * 1000000 };
	auto_buf struct buf out = { 0 };
	struct lines l[2] = { { .emit = note, .ctx = &out },
		{ .emit = note, .ctx = &out } };

	(void)state;
	assert_int_equal(lines_left_ms(l, 2), -1);
	lines_add(&l[1], "x\xc3", 2);
	assert_in_range(lines_left_ms(l, 2), 0, LINES_WAIT_MS);
	/* wait: the delay of the text is over then, also on a slow machine */
	nanosleep(&WAIT, NULL);
	assert_int_equal(lines_left_ms(l, 2), 0);
	lines_flush(&l[1]);
	assert_string_equal(out.data, "[x\xc3]");
	assert_int_equal(lines_left_ms(l, 2), -1);
	/* ... also while more text comes */
	lines_add(&l[1], "y", 1);
	nanosleep(&WAIT, NULL); /* wait: as above */
	lines_add(&l[1], "z", 1);
	assert_string_equal(out.data, "[x\xc3][yz]");
	lines_end(&l[1]);
}

static void
bytes_do_not_wait(void **state)
{
	auto_buf struct buf out = { 0 };
	struct lines l = { .emit = note, .ctx = &out, .at_once = true };

	(void)state;
	lines_add(&l, "a\nb\xe2", 4);
	assert_string_equal(out.data, "[a\nb\xe2]");
	assert_int_equal(lines_left_ms(&l, 1), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_go_out_when_they_are_whole),
		cmocka_unit_test(a_line_without_end_goes_out_in_pieces),
		cmocka_unit_test(nothing_waits_longer_than_its_time),
		cmocka_unit_test(bytes_do_not_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
