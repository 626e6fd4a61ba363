/* swap_test.c: tests that a directory's content is replaced. */
#include "../unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/files/swap.h"
#include "agent/files/tree.h"
#include "common/mem.h"

#define STAGE ".sl-aaaaaaaaaaaaaaaa"

static char top[] = "/tmp/sl-swap-XXXXXX";
static char dir[64], kept[80];
static const char *const NONE[] = { NULL };

static int
enter(void **state)
{
	(void)state;
	if (mkdtemp(top) == NULL || chdir(top) < 0)
		return -1;
	snprintf(dir, sizeof(dir), "%s/dir", top);
	snprintf(kept, sizeof(kept), "%s/sub/kept", dir);
	return 0;
}

static int
leave(void **state)
{
	struct err e = { 0 };

	(void)state;
	return chdir("/") == 0 ? tree_remove(top, &e) : -1;
}

static void
put(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);

	assert_true(fd >= 0);
	close(fd);
}

static void
put_in(const char *where, const char *name)
{
	auto_free char *path = xasprintf("%s/%s", where, name);

	put(path);
}

static bool
is_there(const char *path)
{
	return faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Makes an old content, with one entry that is to be kept. */
static void
make_old(void)
{
	struct err e = { 0 };

	if (is_there("dir"))
		assert_int_equal(tree_remove(dir, &e), 0);
	assert_int_equal(mkdir("dir", 0750), 0);
	assert_int_equal(mkdir("dir/sub", 0755), 0);
	assert_int_equal(mkdir("dir/shut", 0755), 0);
	put("dir/shut/in");
	assert_int_equal(chmod("dir/shut", 0555), 0);
	put("dir/old");
	put("dir/both");
	put("dir/sub/kept");
}

static int
entries_of_top(void)
{
	FILE *p = popen("ls -A", "r");
	int count = 0;

	assert_non_null(p);
	for (int c; (c = fgetc(p)) != EOF;)
		count += c == '\n';
	pclose(p);
	return count;
}

/* Makes the directory one that cannot be renamed, like a mount point. */
static void
stand_still(struct swap *s)
{
	swap_drop(s);
	s->whole = false;
	snprintf(s->stage, sizeof(s->stage), "%s/" STAGE, dir);
	snprintf(s->fresh, sizeof(s->fresh), "%s/" STAGE "/new", dir);
	assert_int_equal(mkdir(s->stage, 0700), 0);
	assert_int_equal(mkdir(s->fresh, 0700), 0);
	assert_int_equal(mkdir("dir/" STAGE "/old", 0700), 0);
}

/* The result is the same whether the directory can be renamed or not. */
static void
the_new_takes_the_place_of_the_old(void **state)
{
	const char *const keeps[] = { kept, "/nowhere/at/all", NULL };

	(void)state;
	for (int whole = 0; whole < 2; whole++) {
		struct err e = { 0 };
		struct stat st;
		struct swap s;

		make_old();
		assert_int_equal(swap_open(&s, dir, keeps, &e), 0);
		assert_true(s.whole);
		if (!whole)
			stand_still(&s);
		put_in(s.fresh, "new");
		put_in(s.fresh, "both");
		assert_int_equal(swap_commit(&s, &e), 0);
		swap_drop(&s);
		assert_true(is_there("dir/new") && is_there("dir/both"));
		assert_false(is_there("dir/old") || is_there("dir/shut"));
		assert_true(is_there("dir/sub/kept"));
		assert_int_equal(stat("dir", &st), 0);
		assert_int_equal(st.st_mode & 07777, 0750);
		assert_int_equal(entries_of_top(), 1);
	}
}

/* A kept entry directly in the directory is not moved at all. */
static void
what_is_kept_stays_where_it_is(void **state)
{
	auto_free char *old = xasprintf("%s/old", dir);
	const char *const keeps[] = { old, NULL };
	struct err e = { 0 };
	struct swap s;

	(void)state;
	make_old();
	assert_int_equal(swap_open(&s, dir, keeps, &e), 0);
	stand_still(&s);
	put_in(s.fresh, "new");
	assert_int_equal(swap_commit(&s, &e), 0);
	swap_drop(&s);
	assert_true(is_there("dir/new") && is_there("dir/old"));
	assert_false(is_there("dir/both"));
}

static void
who_is_in_it_stays_in_it(void **state)
{
	struct err e = { 0 };
	struct swap s;

	(void)state;
	make_old();
	assert_int_equal(chdir(dir), 0);
	assert_int_equal(swap_open(&s, dir, NONE, &e), 0);
	assert_false(s.whole);
	put_in(s.fresh, "new");
	assert_int_equal(swap_commit(&s, &e), 0);
	swap_drop(&s);
	assert_true(is_there("new"));
	assert_false(is_there("old"));
	assert_int_equal(entries_of_top(), 1);
	assert_int_equal(chdir(top), 0);
}

/* As after a build that goes on: entries already moved aside exist again. */
static void
what_is_made_meanwhile_is_not_in_the_way(void **state)
{
	struct err e = { 0 };
	struct swap s;

	(void)state;
	make_old();
	assert_int_equal(swap_open(&s, dir, NONE, &e), 0);
	stand_still(&s);
	assert_int_equal(mkdir("dir/" STAGE "/old/sub", 0755), 0);
	put("dir/" STAGE "/old/sub/kept");
	put("dir/" STAGE "/old/both");
	put_in(s.fresh, "new");
	assert_int_equal(swap_commit(&s, &e), 0);
	swap_drop(&s);
	assert_true(is_there("dir/new"));
	assert_false(is_there("dir/old") || is_there("dir/sub"));
	assert_false(is_there("dir/" STAGE));
}

static void
what_fails_is_taken_back_and_nothing_dropped(void **state)
{
	struct err e = { 0 };
	struct swap s;

	(void)state;
	make_old();
	assert_int_equal(swap_open(&s, dir, NONE, &e), 0);
	stand_still(&s);
	assert_int_equal(mkdir("dir/" STAGE "/old/more", 0755), 0);
	put("dir/" STAGE "/old/more/in");
	assert_int_equal(rmdir(s.fresh), 0);
	assert_int_equal(swap_commit(&s, &e), -1);
	assert_code(e.code, CODE_FILE_NOT_FOUND);
	assert_non_null(strstr(e.msg, STAGE));
	swap_drop(&s);
	assert_true(is_there("dir/old") && is_there("dir/shut/in"));
	assert_true(is_there("dir/sub/kept") && is_there("dir/more/in"));
	assert_true(is_there("dir/" STAGE));
}

static void
what_is_not_taken_leaves_no_trace(void **state)
{
	struct err e = { 0 };
	struct swap s;

	(void)state;
	make_old();
	assert_int_equal(swap_open(&s, dir, NONE, &e), 0);
	put_in(s.fresh, "new");
	swap_drop(&s);
	assert_true(is_there("dir/old"));
	assert_int_equal(entries_of_top(), 1);
}

static void
a_directory_that_is_missing_is_made(void **state)
{
	auto_free char *deep = xasprintf("%s/a/b/c", dir);
	struct err e = { 0 };
	struct swap s;

	(void)state;
	make_old();
	assert_int_equal(swap_open(&s, deep, NONE, &e), 0);
	put_in(s.fresh, "new");
	assert_int_equal(swap_commit(&s, &e), 0);
	swap_drop(&s);
	assert_true(is_there("dir/a/b/c/new"));
}

static void
a_file_is_no_directory(void **state)
{
	auto_free char *file = xasprintf("%s/old", dir);
	struct err e = { 0 };
	struct swap s;

	(void)state;
	make_old();
	assert_int_equal(swap_open(&s, file, NONE, &e), -1);
	assert_code(e.code, CODE_NOT_DIRECTORY);
	swap_drop(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_new_takes_the_place_of_the_old),
		cmocka_unit_test(what_is_kept_stays_where_it_is),
		cmocka_unit_test(who_is_in_it_stays_in_it),
		cmocka_unit_test(what_is_made_meanwhile_is_not_in_the_way),
		cmocka_unit_test(what_fails_is_taken_back_and_nothing_dropped),
		cmocka_unit_test(what_is_not_taken_leaves_no_trace),
		cmocka_unit_test(a_directory_that_is_missing_is_made),
		cmocka_unit_test(a_file_is_no_directory),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
