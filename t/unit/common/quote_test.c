/* quote_test.c: tests the quoting of words for a shell. */
#include "t/unit/unit.h"

#include "common/mem.h"
#include "common/quote.h"

static void
words_are_quoted_where_they_must_be(void **state)
{
	static const struct {
		const char *word, *want;
	} CASES[] = {
		{ "ls", "ls" },
		{ "/usr/bin/a-b_c.d", "/usr/bin/a-b_c.d" },
		{ "", "''" },
		{ "a b", "'a b'" },
		{ "$HOME", "'$HOME'" },
		{ "it's", "'it'\\''s'" },
		{ "'", "''\\'''" },
		{ "a\nb", "'a\nb'" },
		{ "~", "'~'" },
		{ "a=b", "'a=b'" },
		{ "*", "'*'" },
		{ "\xc3\xa9", "'\xc3\xa9'" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		auto_buf struct buf got = { 0 };

		quote_word(&got, CASES[i].word);
		assert_string_equal(got.data, CASES[i].want);
	}
}

static void
a_word_can_be_quoted_always(void **state)
{
	auto_buf struct buf got = { 0 };

	(void)state;
	quote_always(&got, "ls");
	quote_always(&got, "it's");
	assert_string_equal(got.data, "'ls''it'\\''s'");
}

static void
a_line_has_all_words(void **state)
{
	char *words[] = { (char[]){ "printf" }, (char[]){ "%s\n" },
		(char[]){ "a b" } };
	auto_buf struct buf got = { 0 };

	(void)state;
	quote_words(&got, 3, words);
	assert_string_equal(got.data, "printf '%s\n' 'a b'");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_quoted_where_they_must_be),
		cmocka_unit_test(a_word_can_be_quoted_always),
		cmocka_unit_test(a_line_has_all_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
