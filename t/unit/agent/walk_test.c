/* walk_test.c: tests walking a tree entry by entry. */
#include "../tree.h"

#include <errno.h>
#include <string.h>

#include "agent/files/walk.h"

enum { DEEP = 3 * WALK_OPEN_MAX, BESIDE = 40 };

/* Makes DEEP nested directories, each with BESIDE files. */
static void
dig(void)
{
	for (int i = 0; i < DEEP; i++) {
		for (int k = 0; k < BESIDE; k++) {
			char name[16];

			snprintf(name, sizeof(name), "f%d", k);
			touch(name);
		}
		/* two directories, so that the walk goes down a second time */
		assert_int_equal(mkdir("e", 0700), 0);
		assert_int_equal(mkdir("d", 0700), 0);
		assert_int_equal(chdir("d"), 0);
	}
	assert_int_equal(chdir(dir), 0);
}

static void
open_top(struct walk *w)
{
	assert_int_equal(
	    walk_open(w, open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)), 0);
}

static void
a_deep_tree_is_seen_whole_and_once(void **state)
{
	auto_walk struct walk w = { .paths = true };
	int entries = 0, left = 0;
	enum walk_step step;

	(void)state;
	dig();
	open_top(&w);
	while ((step = walk_next(&w)) != WALK_END) {
		struct stat st;

		assert_true(step == WALK_ENTRY || step == WALK_LEFT);
		assert_int_equal(
		    fstatat(w.at, w.name, &st, AT_SYMLINK_NOFOLLOW), 0);
		assert_int_equal(st.st_ino, w.st.st_ino);
		assert_int_equal(lstat(w.path.data, &st), 0);
		assert_int_equal(st.st_ino, w.st.st_ino);
		entries += step == WALK_ENTRY;
		left += step == WALK_LEFT;
		if (step == WALK_ENTRY && S_ISDIR(w.st.st_mode))
			assert_int_equal(walk_enter(&w), 0);
	}
	assert_int_equal(entries, DEEP * (BESIDE + 2));
	assert_int_equal(left, 2 * DEEP);
	assert_int_equal(walk_next(&w), WALK_END);
}

static void
what_is_seen_may_be_removed(void **state)
{
	auto_walk struct walk w = { .paths = true, .shrinking = true };
	enum walk_step step;

	(void)state;
	dig();
	open_top(&w);
	while ((step = walk_next(&w)) != WALK_END) {
		bool is_dir = S_ISDIR(w.st.st_mode);

		assert_true(step == WALK_ENTRY || step == WALK_LEFT);
		if (step == WALK_ENTRY && is_dir)
			assert_int_equal(walk_enter(&w), 0);
		else
			assert_int_equal(unlinkat(w.at, w.name,
					     is_dir ? AT_REMOVEDIR : 0),
			    0);
	}
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(mkdir(dir, 0700), 0);
}

static void
links_are_entries_like_others(void **state)
{
	auto_walk struct walk w = { 0 };

	(void)state;
	assert_int_equal(symlink(".", "loop"), 0);
	open_top(&w);
	assert_int_equal(walk_next(&w), WALK_ENTRY);
	assert_true(S_ISLNK(w.st.st_mode));
	assert_int_equal(walk_enter(&w), -1);
	assert_int_equal(walk_next(&w), WALK_END);
}

static void
paths_have_an_end(void **state)
{
	auto_walk struct walk w = { .paths = true };
	char name[200];
	int entered = 0;
	enum walk_step step;

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (size_t i = 0; i < WALK_PATH_MAX / sizeof(name) + 4; i++) {
		assert_int_equal(mkdir(name, 0700), 0);
		assert_int_equal(chdir(name), 0);
	}
	assert_int_equal(chdir(dir), 0);
	open_top(&w);
	while ((step = walk_next(&w)) != WALK_END) {
		if (step != WALK_ENTRY)
			continue;
		if (walk_enter(&w) == 0)
			entered++;
		else
			assert_int_equal(errno, ENAMETOOLONG);
	}
	assert_int_equal(entered, WALK_PATH_MAX / sizeof(name));
}

static void
a_top_that_is_not_there_is_an_error(void **state)
{
	auto_walk struct walk w = { 0 };

	(void)state;
	assert_int_equal(walk_open(&w, open("none", O_RDONLY)), -1);
	assert_int_equal(errno, ENOENT);
	touch("file");
	assert_int_equal(walk_open(&w, open("file", O_RDONLY)), -1);
	assert_int_equal(errno, ENOTDIR);
	assert_int_equal(walk_next(&w), WALK_END);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    a_deep_tree_is_seen_whole_and_once, enter, leave),
		cmocka_unit_test_setup_teardown(what_is_seen_may_be_removed,
		    enter, leave),
		cmocka_unit_test_setup_teardown(links_are_entries_like_others,
		    enter, leave),
		cmocka_unit_test_setup_teardown(paths_have_an_end, enter,
		    leave),
		cmocka_unit_test_setup_teardown(
		    a_top_that_is_not_there_is_an_error, enter, leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
