/* code_test.c: tests the error codes: constants in C, their words outside. */
#include "../unit.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "common/mem.h"

/* Clients compare the words: renaming only one form of a code must fail. */
static void
the_two_forms_of_a_word_differ_in_case_only(void **state)
{
	(void)state;
	for (int i = CODE_NONE; i < CODE__MAX; i++) {
		const char *word = code_word((enum err_code)i);
		const char *capitals = code_capitals((enum err_code)i);

		assert_int_equal(strlen(word), strlen(capitals));
		for (size_t c = 0; word[c] != '\0'; c++) {
			assert_true(islower(word[c]) || word[c] == '_');
			assert_int_equal(toupper(word[c]), capitals[c]);
		}
	}
}

static void
a_word_is_read_in_either_form(void **state)
{
	(void)state;
	for (int i = CODE_NONE + 1; i < CODE__MAX; i++) {
		enum err_code code = (enum err_code)i;

		assert_code(code_parse(code_word(code)), code);
		assert_code(code_parse(code_capitals(code)), code);
	}
}

/* People search the table by eye: a word has one place where it can be. */
static void
the_table_is_in_the_order_of_the_alphabet(void **state)
{
	(void)state;
	for (int i = CODE_NONE + 2; i < CODE__MAX; i++)
		if (strcmp(code_word((enum err_code)(i - 1)),
			code_word((enum err_code)i)) >= 0)
			fail_msg("%s", code_word((enum err_code)i));
}

static void
a_word_of_another_release_is_none_of_ours(void **state)
{
	static const char *const FOREIGN[] = { "", "lease", "lease_busy ",
		"lease_busy2", "Lease_Busy", "leaseBusy", "from_the_future" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(FOREIGN); i++)
		if (code_parse(FOREIGN[i]) != CODE_NONE)
			fail_msg("%s", FOREIGN[i]);
}

static void
an_error_without_a_code_is_internal(void **state)
{
	(void)state;
	assert_string_equal(code_word(CODE_NONE), "internal");
	assert_string_equal(code_capitals(CODE_NONE), "INTERNAL");
	assert_code(code_parse("internal"), CODE_INTERNAL);
}

static void
one_of_several_is_found(void **state)
{
	(void)state;
	assert_true(CODE_IS_ONE_OF(CODE_BUSY, CODE_BUSY));
	assert_true(CODE_IS_ONE_OF(CODE_BUSY, CODE_TIMED_OUT, CODE_BUSY));
	assert_false(CODE_IS_ONE_OF(CODE_LOST, CODE_TIMED_OUT, CODE_BUSY));
	assert_false(CODE_IS_ONE_OF(CODE_NONE, CODE_INTERNAL));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_two_forms_of_a_word_differ_in_case_only),
		cmocka_unit_test(a_word_is_read_in_either_form),
		cmocka_unit_test(the_table_is_in_the_order_of_the_alphabet),
		cmocka_unit_test(a_word_of_another_release_is_none_of_ours),
		cmocka_unit_test(an_error_without_a_code_is_internal),
		cmocka_unit_test(one_of_several_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
