/* str_test.c: tests bounded strings and a growing buffer. */
#include "../unit.h"

#include <string.h>

#include "common/mem.h"
#include "common/str.h"

static void
a_copy_fits_or_is_empty(void **state)
{
	char out[4] = "zzz";

	(void)state;
	assert_true(str_copy(out, sizeof(out), "abc"));
	assert_string_equal(out, "abc");
	assert_false(str_copy(out, sizeof(out), "abcd"));
	assert_string_equal(out, "");
	assert_true(str_copy(out, 1, ""));
}

static void
small_questions_have_small_answers(void **state)
{
	(void)state;
	assert_true(str_empty(NULL));
	assert_true(str_empty(""));
	assert_false(str_empty(" "));
	assert_true(str_equal("a", "a"));
	assert_false(str_equal("a", "A"));
	assert_true(str_starts("ses-1", "ses-"));
	assert_false(str_starts("se", "ses-"));
	assert_true(str_starts("x", ""));
}

static void
made_of_counts_and_compares(void **state)
{
	(void)state;
	assert_true(str_made_of("aba", "ab", 3, 3));
	assert_false(str_made_of("aba", "ab", 4, 9));
	assert_false(str_made_of("aba", "ab", 1, 2));
	assert_false(str_made_of("abc", "ab", 1, 9));
	assert_false(str_made_of("", "ab", 1, 9));
	assert_true(str_made_of("", "ab", 0, 9));
}

static void
control_characters_are_masked(void **state)
{
	char text[] = "a\033[31mb\tc\n\x7f \xc2\x9b \xc2\xa0\xc3\x9f \xc2";

	(void)state;
	str_mask_controls(text);
	assert_string_equal(text, "a?[31mb?c?? ?? \xc2\xa0\xc3\x9f \xc2");
}

static void
numbers_are_digits_within_bounds(void **state)
{
	static const struct {
		const char *text;
		int64_t min, max, want; /* want -1: refused */
	} CASES[] = {
		{ "0", 0, 10, 0 },
		{ "10", 0, 10, 10 },
		{ "11", 0, 10, -1 },
		{ "4", 5, 10, -1 },
		{ "007", 0, 10, 7 },
		{ "", 0, 10, -1 },
		{ "-1", -5, 10, -1 },
		{ "+1", 0, 10, -1 },
		{ " 1", 0, 10, -1 },
		{ "1 ", 0, 10, -1 },
		{ "0x1", 0, 10, -1 },
		{ "1e3", 0, 9999, -1 },
		{ "999999999999999999", 0, INT64_MAX, 999999999999999999 },
		{ "9999999999999999999", 0, INT64_MAX, -1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		int64_t n = -1;

		assert_int_equal(str_to_int(CASES[i].text, CASES[i].min,
				     CASES[i].max, &n),
		    CASES[i].want >= 0);
		assert_int_equal(n, CASES[i].want); /* refused: unchanged */
	}
}

static void
lists_are_trimmed_and_hold_no_empty_element(void **state)
{
	static const struct {
		const char *list, *item;
		bool has;
	} CASES[] = {
		{ "", "a", false },
		{ "", "", false },
		{ "a", "a", true },
		{ " a ", "a", true },
		{ "\ta\n,b", "a", true },
		{ "a,b", "b", true },
		{ "a, b ,c", "b", true },
		{ "ab,c", "a", false },
		{ "a,bc", "c", false },
		{ ",,", "", false },
		{ " , ", " ", false },
		{ "a,,b", "b", true },
		{ "a b", "a", false },
		{ "a b", "a b", true },
		{ "A", "a", false },
		{ "x,*", "*", true },
		{ "x*", "*", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
		assert_int_equal(str_list_has(CASES[i].list, CASES[i].item),
		    CASES[i].has);
}

static void
a_buffer_grows_and_stays_terminated(void **state)
{
	auto_buf struct buf b = { 0 };
	auto_buf struct buf whole = { 0 };

	(void)state;
	for (int i = 0; i < 1000; i++)
		buf_fmt(&b, "%d,", i);
	assert_int_equal(b.len, strlen(b.data));
	assert_true(b.len > 256);
	buf_add(&b, "a\0b", 3);
	buf_str(&b, "end");
	assert_memory_equal(b.data + b.len - 6, "a\0bend", 7);
	buf_add(&whole, NULL, 0);
	assert_string_equal(whole.data, "");
	buf_fmt(&whole, "%s", b.data);
	assert_int_equal(whole.len, b.len - 5); /* up to the NUL */
}

static void
room_is_room_for_the_terminator_too(void **state)
{
	auto_buf struct buf b = { 0 };

	(void)state;
	for (size_t want = 1; want < 3000; want += 255) {
		char *to = buf_room(&b, want);

		memset(to, 'x', want);
		b.len += want;
		b.data[b.len] = '\0'; /* room for this, too: ASan checks */
		assert_true(b.cap > b.len);
	}
}

static void
a_file_beside_another_has_its_directory(void **state)
{
	static const char *const CASES[][2] = {
		{ "/usr/lib/agent", "/usr/lib/launch" },
		{ "agent", "launch" },
		{ "/agent", "/launch" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		auto_free char *beside = str_beside(CASES[i][0], "launch");

		assert_string_equal(beside, CASES[i][1]);
	}
}

static void
a_freed_buffer_may_be_used_again(void **state)
{
	auto_buf struct buf b = { 0 };

	(void)state;
	buf_str(&b, "one");
	buf_free(&b);
	assert_null(b.data);
	buf_str(&b, "two");
	assert_string_equal(b.data, "two");
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
		cmocka_unit_test(a_copy_fits_or_is_empty),
		cmocka_unit_test(small_questions_have_small_answers),
		cmocka_unit_test(made_of_counts_and_compares),
		cmocka_unit_test(control_characters_are_masked),
		cmocka_unit_test(numbers_are_digits_within_bounds),
		cmocka_unit_test(lists_are_trimmed_and_hold_no_empty_element),
		cmocka_unit_test(a_file_beside_another_has_its_directory),
		cmocka_unit_test(a_buffer_grows_and_stays_terminated),
		cmocka_unit_test(room_is_room_for_the_terminator_too),
		cmocka_unit_test(a_freed_buffer_may_be_used_again),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
