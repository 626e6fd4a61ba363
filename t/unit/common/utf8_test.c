/* utf8_test.c: tests how bytes of any origin become text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "common/mem.h"
#include "common/utf8.h"

static void
sequences_are_valid_invalid_or_cut_off(void **state)
{
	static const struct {
		const char *bytes;
		int want;
	} CASES[] = {
		{ "a", 1 },
		{ "\x7f", 1 },
		{ "\xc2\x80", 2 },
		{ "\xc3\xa9x", 2 },
		{ "\xe2\x82\xac", 3 },
		{ "\xf0\x9f\x98\x80", 4 },
		{ "\xf4\x8f\xbf\xbf", 4 },
		{ "\x80", 0 },             /* no lead */
		{ "\xff", 0 },             /* never */
		{ "\xc0\x80", 0 },         /* overlong */
		{ "\xe0\x80\x80", 0 },     /* overlong */
		{ "\xf0\x80\x80\x80", 0 }, /* overlong */
		{ "\xed\xa0\x80", 0 },     /* surrogate */
		{ "\xf4\x90\x80\x80", 0 }, /* beyond the last */
		{ "\xc3(", 0 },
		{ "\xe2\x82(", 0 },
		{ "\xc3", -1 },
		{ "\xe2\x82", -1 },
		{ "\xf0\x9f\x98", -1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
		assert_int_equal(utf8_sequence(CASES[i].bytes,
				     strlen(CASES[i].bytes)),
		    CASES[i].want);
}

static void
a_cut_off_end_is_not_whole(void **state)
{
	static const struct {
		const char *bytes;
		size_t want;
	} CASES[] = {
		{ "", 0 },
		{ "abc", 3 },
		{ "ab\xc3", 2 },
		{ "ab\xc3\xa9", 4 },
		{ "ab\xf0\x9f\x98", 2 },
		{ "\xf0\x9f", 0 },
		{ "ab\xff", 3 }, /* invalid, but nothing can complete it */
		{ "ab\x80\x80\x80", 5 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
		assert_int_equal(utf8_whole(CASES[i].bytes,
				     strlen(CASES[i].bytes)),
		    CASES[i].want);
}

static void
json_text_is_escaped_and_repaired(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *want;
	} CASES[] = {
		{ "plain", 5, "plain" },
		{ "a\"b\\c", 5, "a\\\"b\\\\c" },
		{ "\n\r\t\b\f", 5, "\\n\\r\\t\\b\\f" },
		{ "\0\x1f\x7f", 3, "\\u0000\\u001f\\u007f" },
		{ "h\xc3\xa9", 3, "h\xc3\xa9" },
		{ "\xff"
		  "a\xc3",
		    3,
		    "\xef\xbf\xbd"
		    "a\xef\xbf\xbd" },
		{ "", 0, "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		auto_buf struct buf b = { 0 };

		utf8_json(&b, CASES[i].bytes, CASES[i].len);
		assert_string_equal(b.data, CASES[i].want);
		assert_true(utf8_valid(b.data, b.len));
	}
}

static void
json_text_may_be_ascii_alone(void **state)
{
	static const struct {
		const char *bytes, *json;
	} CASES[] = {
		{ "plain\n", "plain\\n" },
		{ "\xc3\xbc", "\\u00fc" },
		{ "\xe2\x82\xac!", "\\u20ac!" },
		{ "\xf0\x9f\x98\x80", "\\ud83d\\ude00" },
		{ "\xf4\x8f\xbf\xbf", "\\udbff\\udfff" },
		{ "a\xff"
		  "b\xc3",
		    "a\\ufffdb\\ufffd" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		auto_buf struct buf b = { 0 };

		utf8_json_ascii(&b, CASES[i].bytes, strlen(CASES[i].bytes));
		assert_string_equal(b.data, CASES[i].json);
	}
}

static void
halves_of_a_character_are_joined(void **state)
{
	static const struct {
		const char *pieces[4];
		const char *out, *rest;
	} CASES[] = {
		{ { "a\xc3", "\xa9z" }, "a|\xc3\xa9z|", "" },
		{ { "\xe2", "\x82", "\xac" }, "||\xe2\x82\xac|", "" },
		{ { "\xf0\x9f", "x" }, "|\xf0\x9fx|", "" },
		{ { "x\xe2\x82" }, "x|", "\xe2\x82" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		auto_buf struct buf all = { 0 };
		struct utf8_tail t = { .len = 0 };

		for (int k = 0; k < 4 && CASES[i].pieces[k] != NULL; k++) {
			auto_buf struct buf b = { 0 };

			utf8_join(&t, CASES[i].pieces[k],
			    strlen(CASES[i].pieces[k]), &b);
			buf_add(&all, b.data, b.len);
			buf_str(&all, "|");
		}
		assert_string_equal(all.data, CASES[i].out);
		assert_int_equal(t.len, strlen(CASES[i].rest));
		assert_memory_equal(t.bytes, CASES[i].rest, t.len);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sequences_are_valid_invalid_or_cut_off),
		cmocka_unit_test(a_cut_off_end_is_not_whole),
		cmocka_unit_test(halves_of_a_character_are_joined),
		cmocka_unit_test(json_text_is_escaped_and_repaired),
		cmocka_unit_test(json_text_may_be_ascii_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
