/* omit_test.c: tests which paths a backup leaves out. */
#include "../unit.h"

#include <unistd.h>

#include "agent/archive/omit.h"
#include "common/mem.h"

static void
read_from(struct omit *o, const char *text, size_t len)
{
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], text, len), len);
	close(ends[1]);
	omit_read(o, ends[0]);
	close(ends[0]);
}

static void
names_paths_and_what_git_says(void **state)
{
	static const char TEXT[] = "node_modules\0*.log\0a/b\0dir/\0x/*.o\0"
				   "\0z\0build/\0./\0*\0m\nn\0";
	static const struct {
		const char *path;
		bool want;
	} CASES[] = {
		{ "node_modules", true },
		{ "x/y/node_modules", true },
		{ "node_modules2", false },
		{ "x/y.log", true },
		{ "a/b", true },
		{ "x/a/b", false },
		{ "dir", true },
		{ "x/dir", true },
		{ "x/1.o", true },
		{ "y/1.o", false },
		{ "a/z", false },
		{ "build", true },
		{ "other", false },
		{ "m\nn", true },
	};
	auto_omit struct omit o = { 0 };

	(void)state;
	read_from(&o, TEXT, sizeof(TEXT) - 1);
	assert_int_equal(o.pattern_count, 5);
	assert_int_equal(o.path_count, 5);
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
		if (omit_has(&o, CASES[i].path) != CASES[i].want)
			fail_msg("%s", CASES[i].path);
}

static void
nothing_is_left_out_unasked(void **state)
{
	auto_omit struct omit none = { 0 };

	(void)state;
	read_from(&none, "", 0);
	assert_false(omit_has(&none, "a"));
	assert_int_equal(none.pattern_count + none.path_count, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_paths_and_what_git_says),
		cmocka_unit_test(nothing_is_left_out_unasked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
