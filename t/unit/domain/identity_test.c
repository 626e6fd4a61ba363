/* identity_test.c: tests under which name a key's user commits. */
#include "t/unit/unit.h"

#include <string.h>

#include "common/mem.h"
#include "domain/identity.h"

static void
a_user_has_a_name_and_an_address(void **state)
{
	static const struct {
		const char *org, *user, *name, *email;
	} CASES[] = {
		{ "acme", "ann", "ann", "ann@acme.sandlease.invalid" },
		{ "", "ann", "ann", "ann@sandlease.invalid" },
		{ "acme", "ann@example.com", "ann@example.com",
		    "ann@example.com" },
		{ "Acme, Inc.", "Ann B. <x>", "Ann B. x",
		    "ann-b-x@acme-inc.sandlease.invalid" },
		{ "o", "a@b@c", "a@b@c", "a-b-c@o.sandlease.invalid" },
		{ "o", "a b@c", "a b@c", "a-b-c@o.sandlease.invalid" },
		{ "o", "@", "user", "user@o.sandlease.invalid" },
		{ "o", "<>\n.", "user", "user@o.sandlease.invalid" },
		{ "o", "a\n[core]\teditor", "a[core]editor",
		    "a-core-editor@o.sandlease.invalid" },
		{ "o", "\xc3\xa4", "\xc3\xa4", "user@o.sandlease.invalid" },
		{ "o", "", "user", "user@o.sandlease.invalid" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		struct identity who;

		identity_of(CASES[i].org, CASES[i].user, &who);
		assert_string_equal(who.name, CASES[i].name);
		assert_string_equal(who.email, CASES[i].email);
	}
}

static void
a_long_name_ends_with_a_whole_character(void **state)
{
	char user[600] = "";
	struct identity who;

	(void)state;
	for (size_t i = 0; i < 598; i += 2)
		memcpy(user + i, "\xc3\xa4", 3);
	identity_of(user, user, &who);
	assert_true(strlen(who.name) < sizeof(who.name));
	assert_int_equal(strlen(who.name) % 2, 0);
	assert_true(strlen(who.name) > 100);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_user_has_a_name_and_an_address),
		cmocka_unit_test(a_long_name_ends_with_a_whole_character),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
