/* nearest_test.c: tests which known word a mistyped one probably means. */
#include "t/unit/unit.h"

#include "common/mem.h"
#include "common/nearest.h"

static const char LONG[] =
    "a-word-that-is-much-longer-than-any-name-of-a-command";

static void
slips_are_counted(void **state)
{
	static const struct {
		const char *a, *b;
		size_t want;
	} CASES[] = {
		{ "", "", 0 },
		{ "", "ls", 2 },
		{ "ls", "ls", 0 },
		{ "creat", "create", 1 },
		{ "exce", "exec", 1 },
		{ "shwo", "show", 1 },
		{ "kitten", "sitting", 3 },
		{ LONG, LONG, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		assert_int_equal(nearest_distance(CASES[i].a, CASES[i].b),
		    CASES[i].want);
		assert_int_equal(nearest_distance(CASES[i].b, CASES[i].a),
		    CASES[i].want);
	}
}

static void
only_what_is_like_it_is_meant(void **state)
{
	(void)state;
	assert_true(nearest_is_close("creat", "create"));
	assert_true(nearest_is_close("l", "ls"));
	assert_false(nearest_is_close("frob", "rm"));
	assert_false(nearest_is_close("xy", "ls"));
	assert_false(nearest_is_close(LONG, "ls"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slips_are_counted),
		cmocka_unit_test(only_what_is_like_it_is_meant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
