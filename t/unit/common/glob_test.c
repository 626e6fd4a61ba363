/* glob_test.c: tests the matching of paths with patterns. */
#include "../unit.h"

#include <string.h>

#include "common/glob.h"
#include "common/mem.h"

static void
only_three_wildcards_are_taken(void **state)
{
	static const char *const GOOD[] = { "*.ts", "**", "a?c", "src/**/*.c",
		"/dist", "./x", "dist/", "node_modules", "(group)/x", "a!",
		"\xff", "\xc3\xa4?" };
	static const char *const BAD[] = { "", "/", "./", "[ab]", "a]", "{a,b}",
		"a}", "a\\*", "!a", "@(a|b)", "+(a)", "?(a)", "*(a)", "x!(a)" };
	char long_one[GLOB_MAX + 1];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(GOOD); i++)
		assert_null(glob_fault(GOOD[i]));
	for (size_t i = 0; i < ARRAY_LEN(BAD); i++)
		assert_non_null(glob_fault(BAD[i]));
	memset(long_one, 'a', sizeof(long_one));
	long_one[GLOB_MAX] = '\0';
	assert_non_null(glob_fault(long_one));
	long_one[GLOB_MAX - 1] = '\0';
	assert_null(glob_fault(long_one));
	assert_true(glob_match(long_one, long_one));
}

static void
patterns_match_what_they_should(void **state)
{
	static const struct {
		const char *pattern, *path;
		bool matches;
	} CASES[] = {
		/* a name at any depth, and everything in it */
		{ "node_modules", "node_modules", true },
		{ "node_modules", "a/node_modules", true },
		{ "node_modules", "a/node_modules/b/c.js", true },
		{ "node_modules", "my_node_modules", false },
		{ "node_modules", "node_modules2/x", false },
		{ "*.ts", "a.ts", true },
		{ "*.ts", "a/b/c.ts", true },
		{ "*.ts", "a.tsx", false },
		{ "*.ts", ".ts", true },
		{ "a*b*c", "aXbYc", true },
		{ "a*b*c", "aXbY", false },
		{ "a*c", "a/c", false },
		{ "?", "x/yy/z", true },
		{ "??", "x/y", false },
		{ "a?c", "a/c", false },
		{ "a?c",
		    "a\xc3\xa4"
		    "c",
		    true },
		{ "a??c",
		    "a\xc3\xa4"
		    "c",
		    false },
		{ "a?c",
		    "a\xff"
		    "c",
		    true },
		{ "dist/", "x/dist", true },
		/* with a slash: only from the beginning of the path */
		{ "/dist", "dist/a", true },
		{ "/dist", "x/dist", false },
		{ "./dist", "x/dist", false },
		{ "src/*.c", "src/a.c", true },
		{ "src/*.c", "src/b/a.c", false },
		{ "src/*.c", "x/src/a.c", false },
		{ "src/**", "src/a/b", true },
		{ "src/**", "src", false },
		{ "src/**", "src/", true },
		{ "src/*", "src/", true },
		{ "src/**/*.c", "src/a.c", true },
		{ "src/**/*.c", "src/x/y/a.c", true },
		{ "**/x", "x", true },
		{ "**/x", "a/b/x", true },
		{ "**/x", "a/xx", false },
		{ "a**b", "a/q/b", true },
		{ "**", "anything/at/all", true },
		{ "*", "a", true },
		{ "a\nb", "a\nb", true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		if (glob_match(CASES[i].pattern, CASES[i].path) !=
		    CASES[i].matches)
			fail_msg("%s and %s", CASES[i].pattern, CASES[i].path);
	}
}

/* A matcher that tried each way alone would practically never end. */
static void
many_stars_cost_nothing(void **state)
{
	char pattern[GLOB_MAX] = "", path[4096];

	(void)state;
	for (size_t i = 0; i + 2 < sizeof(pattern); i += 2)
		memcpy(pattern + i, "*a", 3);
	pattern[sizeof(pattern) - 2] = 'b';
	pattern[sizeof(pattern) - 1] = '\0';
	memset(path, 'a', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	assert_false(glob_match(pattern, path));
	path[sizeof(path) - 2] = 'b';
	assert_true(glob_match(pattern, path));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_three_wildcards_are_taken),
		cmocka_unit_test(patterns_match_what_they_should),
		cmocka_unit_test(many_stars_cost_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
