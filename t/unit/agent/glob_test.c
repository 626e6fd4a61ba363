/* glob_test.c: patterns of paths. */
#include "../unit.h"

#include <string.h>

#include "agent/glob.h"
#include "common/mem.h"

static void
patterns_match_what_they_say(void **state)
{
	static const struct {
		const char *pattern, *path;
		bool want;
	} CASES[] = {
		{ "a", "a", true },
		{ "a", "b", false },
		{ "a", "a/b", false },
		{ "", "", true },
		{ "", "a", false },
		{ "*.log", "x.log", true },
		{ "*.log", ".log", true },
		{ "*.log", "d/x.log", false },
		{ "*.log", "x.logs", false },
		{ "a*b*c", "a-b-b-c", true },
		{ "a*b*c", "a-b-b-c-", false },
		{ "?", "\xc3\xa4", true },
		{ "?", "ab", false },
		{ "?", "/", false },
		{ "a?c", "a/c", false },
		{ "*", "\xff", true },
		{ "a/*", "a/b", true },
		{ "a/*", "a/b/c", false },
		{ "a/*/c", "a/b/c", true },
		{ "a*/b", "axx/b", true },
		{ "a*/b", "axx/c/b", false },
		{ "**", "a", true },
		{ "**", "a/b", true },
		{ "**", "", false },
		{ "**/a", "a", true },
		{ "**/a", "x/y/a", true },
		{ "**/a", "x/ya", false },
		{ "a/**", "a/b/c", true },
		{ "a/**", "a", false },
		{ "a/**/d", "a/d", true },
		{ "a/**/d", "a/b/c/d", true },
		{ "a/**/d", "a/b/c/e", false },
		{ "a/**/b/**/c", "a/b/b/x/c", true },
		{ "**/*.o", "x/y.c/z.o", true },
		{ "**/x*/y", "x1/z/x2/y", true },
		{ "a**b", "axxb", true },
		{ "a**b", "ax/xb", false },
		{ "[a]", "[a]", true },
		{ "[a]", "a", false },
		{ "\\*", "\\x", true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
		if (glob_match(CASES[i].pattern, CASES[i].path) !=
		    CASES[i].want)
			fail_msg("%s %s", CASES[i].pattern, CASES[i].path);
}

/* What would take longer than the universe with a naive matcher. */
static void
many_stars_take_no_time(void **state)
{
	char pattern[512], path[2048];

	(void)state;
	memset(path, 'a', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	for (size_t i = 0; i + 2 < sizeof(pattern); i += 2)
		memcpy(pattern + i, "a*", 2);
	memcpy(pattern + sizeof(pattern) - 3, "*b", 3);
	assert_false(glob_match(pattern, path));
	for (size_t i = 1; i + 1 < sizeof(path); i += 2)
		path[i] = '/';
	for (size_t i = 0; i + 5 < sizeof(pattern); i += 5)
		memcpy(pattern + i, "**/a/", 5);
	memcpy(pattern + sizeof(pattern) - 3, "/b", 3);
	assert_false(glob_match(pattern, path));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns_match_what_they_say),
		cmocka_unit_test(many_stars_take_no_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
