/* correlation_test.c: tests which texts can be a correlation key. */
#include "../unit.h"

#include <string.h>

#include "common/correlation.h"
#include "common/mem.h"

static void
a_key_is_printable_and_not_too_long(void **state)
{
	static const struct {
		const char *key;
		bool good;
	} CASES[] = {
		{ "a", true },
		{ " ", true },
		{ "slack:thread:C1/17", true },
		{ "\xc3\xa4", true },
		{ "\xc2\xa0", true },
		{ "", false },
		{ "a\n", false },
		{ "\x1f", false },
		{ "\x7f", false },
		{ "\xc2\x80", false },
		{ "\xc2\x9f", false },
		{ "\xff", false },
		{ "\xc3", false },
	};
	char longest[CORRELATION_KEY_MAX + 2];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
		if (correlation_is_key(CASES[i].key) != CASES[i].good)
			fail_msg("case %zu", i);
	memset(longest, 'x', sizeof(longest));
	longest[CORRELATION_KEY_MAX] = '\0';
	assert_true(correlation_is_key(longest));
	longest[CORRELATION_KEY_MAX] = 'x';
	longest[CORRELATION_KEY_MAX + 1] = '\0';
	assert_false(correlation_is_key(longest));
}

static void
a_list_keeps_what_can_be_a_key(void **state)
{
	auto_json json_t *given = json_pack("[s, s, i, s, s%, n]", "a", "b\n",
	    3, "a", "x\0y", (size_t)3);
	auto_json json_t *kept = correlation_list(given), *many = json_array();
	auto_json json_t *first = NULL;

	(void)state;
	assert_int_equal(json_array_size(kept), 1);
	assert_string_equal(json_string_value(json_array_get(kept, 0)), "a");
	assert_null(correlation_list(NULL));
	assert_null(correlation_list(many));
	for (int i = 0; i < 20; i++)
		json_array_append_new(many, json_sprintf("k%d", i));
	first = correlation_list(many);
	assert_int_equal(json_array_size(first), CORRELATION_GIVEN_MAX);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_key_is_printable_and_not_too_long),
		cmocka_unit_test(a_list_keeps_what_can_be_a_key),
	};

	return cmocka_run_group_tests_name("correlation", tests, NULL, NULL);
}
