/* keys_body_test.c: tests which texts can be a correlation key. */
#include "../unit.h"

#include <string.h>

#include "api/v1/keys_body.h"
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
	char longest[KEY_LEN_MAX + 2];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
		if (key_is_good(CASES[i].key) != CASES[i].good)
			fail_msg("case %zu", i);
	memset(longest, 'x', sizeof(longest));
	longest[KEY_LEN_MAX] = '\0';
	assert_true(key_is_good(longest));
	longest[KEY_LEN_MAX] = 'x';
	longest[KEY_LEN_MAX + 1] = '\0';
	assert_false(key_is_good(longest));
}

static void
a_list_names_its_field_and_the_element(void **state)
{
	auto_json json_t *keys = json_pack("[s, s, i]", "a", "b", 3);
	struct err e = { 0 };

	(void)state;
	assert_int_equal(keys_check(keys, "keys", &e), -1);
	assert_string_equal(e.field, "keys");
	assert_non_null(strstr(e.msg, "element 2"));
	json_array_remove(keys, 2);
	assert_int_equal(keys_check(keys, "keys", &e), 0);
	assert_int_equal(keys_check(NULL, "keys", &e), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_key_is_printable_and_not_too_long),
		cmocka_unit_test(a_list_names_its_field_and_the_element),
	};

	return cmocka_run_group_tests_name("keys_body", tests, NULL, NULL);
}
