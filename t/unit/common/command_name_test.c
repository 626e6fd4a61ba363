/* command_name_test.c: tests names of commands, which have one word or two. */
#include "t/unit/unit.h"

#include "common/command_name.h"
#include "common/mem.h"

static void
typed_words_begin_with_a_whole_name(void **state)
{
	static struct {
		const char *name;
		char words[3][12];
		int count, want;
	} CASES[] = {
		{ "ls", { "ls" }, 1, 1 },
		{ "ls", { "ls", "--all" }, 2, 1 },
		{ "ls", { "" }, 0, 0 },
		{ "ls", { "l" }, 1, 0 },
		{ "ls", { "lsx" }, 1, 0 },
		{ "ls", { "" }, 1, 0 },
		{ "ports add", { "ports", "add", "ID" }, 3, 2 },
		{ "ports add", { "ports", "add" }, 2, 2 },
		{ "ports add", { "ports" }, 1, 0 },
		{ "ports add", { "ports add" }, 1, 0 },
		{ "ports add", { "ports", "ad" }, 2, 0 },
		{ "ports add", { "port", "add" }, 2, 0 },
		{ "ports", { "ports", "add" }, 2, 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		char *const words[] = { CASES[i].words[0], CASES[i].words[1],
			CASES[i].words[2], NULL };

		assert_int_equal(command_name_match(CASES[i].name,
				     CASES[i].count, words),
		    CASES[i].want);
	}
}

static void
only_a_name_of_two_words_is_in_a_group(void **state)
{
	(void)state;
	assert_true(command_name_in("ports add", "ports"));
	assert_false(command_name_in("ports add", "port"));
	assert_false(command_name_in("port-forward", "port"));
	assert_false(command_name_in("ports", "ports"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(typed_words_begin_with_a_whole_name),
		cmocka_unit_test(only_a_name_of_two_words_is_in_a_group),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
