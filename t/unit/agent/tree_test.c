/* tree_test.c: tests removing a directory with everything in it. */
#include "../tree.h"

#include <string.h>

#include "agent/files/tree.h"
#include "common/err.h"
#include "common/mem.h"

/* Makes a tree deeper than a path can name and than levels are open at once. */
static void
make_deep(int levels)
{
	int at = AT_FDCWD;

	for (int i = 0; i < levels; i++) {
		int next;

		assert_int_equal(mkdirat(at, "some-directory", 0755), 0);
		next = openat(at, "some-directory", O_RDONLY | O_DIRECTORY);
		assert_true(next >= 0);
		close(openat(next, "file", O_WRONLY | O_CREAT, 0644));
		if (at != AT_FDCWD)
			close(at);
		at = next;
	}
	close(at);
}

static void
everything_below_goes(void **state)
{
	struct err e = { 0 };

	(void)state;
	assert_int_equal(mkdir("a", 0755), 0);
	assert_int_equal(mkdir("a/b", 0755), 0);
	touch("a/f");
	touch("a/b/g");
	assert_int_equal(tree_remove("a", &e), 0);
	assert_int_equal(access("a", F_OK), -1);
}

static void
depth_is_no_limit(void **state)
{
	struct err e = { 0 };

	(void)state;
	make_deep(400);
	assert_int_equal(tree_remove("some-directory", &e), 0);
	assert_int_equal(access("some-directory", F_OK), -1);
}

static void
links_are_not_followed(void **state)
{
	struct err e = { 0 };

	(void)state;
	assert_int_equal(mkdir("kept", 0755), 0);
	touch("kept/f");
	assert_int_equal(mkdir("a", 0755), 0);
	assert_int_equal(symlink("../kept", "a/link"), 0);
	assert_int_equal(symlink("kept", "link"), 0);
	assert_int_equal(tree_remove("a", &e), 0);
	assert_int_equal(tree_remove("link", &e), 0);
	assert_int_equal(access("kept/f", F_OK), 0);
	assert_int_equal(tree_remove("kept", &e), 0);
}

static void
what_is_not_there_is_told(void **state)
{
	struct err e = { 0 };

	(void)state;
	assert_int_equal(tree_remove("nothing", &e), -1);
	assert_code(e.code, CODE_FILE_NOT_FOUND);
}

static bool
twice(void *ctx)
{
	int *asked = ctx;

	return ++*asked <= 2;
}

static void
who_has_no_time_leaves_the_rest(void **state)
{
	struct err e = { 0 };
	int asked = 0;

	(void)state;
	assert_int_equal(mkdir("many", 0755), 0);
	for (int i = 0; i < 300; i++) {
		char name[32];

		snprintf(name, sizeof(name), "many/%d", i);
		touch(name);
	}
	assert_int_equal(tree_remove_while("many", twice, &asked, &e), -1);
	assert_code(e.code, CODE_RESOURCE_BUSY);
	assert_int_equal(asked, 3);
	assert_int_equal(tree_remove("many", &e), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_below_goes),
		cmocka_unit_test(depth_is_no_limit),
		cmocka_unit_test(links_are_not_followed),
		cmocka_unit_test(what_is_not_there_is_told),
		cmocka_unit_test(who_has_no_time_leaves_the_rest),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
