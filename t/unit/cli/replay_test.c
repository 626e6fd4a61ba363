/* replay_test.c: tests that old output is shown without its queries. */
#include "t/unit/unit.h"

#include <string.h>

#include "cli/replay.h"
#include "common/mem.h"

static void
questions_are_left_out_however_they_were_cut(void **state)
{
	static const struct {
		const char *text, *want;
	} CASES[] = {
		{ "plain\r\n", "plain\r\n" },
		{ "a\033[31mred\033[0m", "a\033[31mred\033[0m" },
		{ "a\033[cb", "ab" },
		{ "a\033[>cb\033[0c", "ab" },
		{ "a\033[6nb", "ab" },
		{ "\033[?2026$p\033[?2026h", "\033[?2026h" },
		{ "\033[>q\033[2 q", "\033[2 q" },
		{ "\033[?u\033[u", "\033[u" },
		{ "\033[18t\033[2;1t", "\033[2;1t" },
		{ "\033]11;?\007x", "x" },
		{ "\033]11;?\033\\x", "x" },
		{ "\033]0;a title\007x", "\033]0;a title\007x" },
		{ "\033P+q544e\033\\x\033P$q q\033\\", "x" },
		{ "\033(B\0337\0338", "\033(B\0337\0338" },
		{ "cut\033[3", "cut\033[3" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
		for (size_t piece = 1; piece < 9; piece++) {
			struct replay r = { 0 };
			auto_buf struct buf got = { 0 };
			size_t len = strlen(CASES[i].text);

			buf_str(&got, "");
			for (size_t at = 0; at < len; at += piece)
				replay_add(&r, CASES[i].text + at,
				    len - at < piece ? len - at : piece, &got);
			replay_end(&r, &got);
			assert_string_equal(got.data, CASES[i].want);
		}
}

static void
what_never_ends_is_shown(void **state)
{
	struct replay r = { 0 };
	auto_buf struct buf got = { 0 };

	(void)state;
	replay_add(&r, "\033]", 2, &got);
	for (int i = 0; i < 10000; i++)
		replay_add(&r, "x", 1, &got);
	replay_end(&r, &got);
	assert_int_equal(got.len, 10002);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(questions_are_left_out_however_they_were_cut),
		cmocka_unit_test(what_never_ends_is_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
