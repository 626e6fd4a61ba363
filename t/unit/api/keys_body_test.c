/* keys_body_test.c: tests that a list of keys is checked. */
#include "../unit.h"

#include <string.h>

#include "api/v1/keys_body.h"
#include "common/mem.h"

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
		cmocka_unit_test(a_list_names_its_field_and_the_element),
	};

	return cmocka_run_group_tests_name("keys_body", tests, NULL, NULL);
}
