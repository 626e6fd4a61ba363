/* move_test.c: tests moving files and directories, by rename and by copy. */
#include "../tree.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "agent/files/files.h"
#include "agent/files/move.h"
#include "common/mem.h"

typedef int move_fn(const char *from, const char *to, struct err *e);

static void
put(const char *name, const char *text)
{
	FILE *f = fopen(name, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void
assert_content(const char *name, const char *want)
{
	char text[64] = "";
	FILE *f = fopen(name, "r");

	assert_non_null(f);
	assert_true(fread(text, 1, sizeof(text) - 1, f) == strlen(want));
	assert_string_equal(text, want);
	fclose(f);
}

static bool
there(const char *name)
{
	struct stat st;

	return lstat(name, &st) == 0;
}

static size_t
count_names(void)
{
	size_t n = 0;
	DIR *d = opendir(".");

	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n - 2;
}

/* Calls move_path() or move_by_copy() with names in the test's directory. */
static int
call(move_fn *move, const char *from, const char *to, struct err *e)
{
	char a[FILES_PATH_MAX], b[FILES_PATH_MAX];

	assert_int_equal(files_resolve(dir, from, a, e), 0);
	assert_int_equal(files_resolve(dir, to, b, e), 0);
	return move(a, b, e);
}

static void
a_name_becomes_another(void **state)
{
	struct err e = { 0 };

	(void)state;
	put("a", "one");
	assert_int_equal(call(move_path, "a", "b", &e), 0);
	assert_content("b", "one");
	assert_false(there("a"));
	put("c", "two");
	assert_int_equal(call(move_path, "c", "b", &e), 0);
	assert_content("b", "two");
	assert_int_equal(call(move_path, "b", "b", &e), 0);
	assert_content("b", "two");
}

static void
a_directory_takes_it_in(void **state)
{
	struct err e = { 0 };

	(void)state;
	put("a", "one");
	mkdir("d", 0755);
	mkdir("e", 0755);
	assert_int_equal(symlink("d", "l"), 0);
	assert_int_equal(call(move_path, "a", "l", &e), 0);
	assert_content("d/a", "one");
	assert_int_equal(call(move_path, "d/", "e/", &e), 0);
	assert_content("e/d/a", "one");
	/* the link itself is moved, not its target */
	assert_int_equal(call(move_path, "l/", "m", &e), 0);
	assert_true(there("m") && !there("l"));
	/* the new name of a directory may end with a slash */
	assert_int_equal(call(move_path, "e", "f/", &e), 0);
	assert_content("f/d/a", "one");
}

static void
errors_say_whose_they_are(void **state)
{
	static const struct {
		const char *from, *to;
		enum err_code code;
		enum err_kind kind;
	} CASES[] = {
		{ "none", "x", CODE_FILE_NOT_FOUND, ERR_NOT_FOUND },
		{ "a/x", "x", CODE_NOT_DIRECTORY, ERR_INVALID },
		{ "a", "none/x", CODE_FILESYSTEM_ERROR, ERR_INTERNAL },
		{ "a", "x/", CODE_NOT_DIRECTORY, ERR_INVALID },
		{ "d", "a", CODE_NOT_DIRECTORY, ERR_INVALID },
		{ "d", "d/sub", CODE_VALIDATION_FAILED, ERR_INVALID },
		{ "d", "full", CODE_FILE_EXISTS, ERR_CONFLICT },
		{ "a", "locked/x", CODE_PERMISSION_DENIED, ERR_DENIED },
	};

	(void)state;
	put("a", "one");
	mkdir("d", 0755);
	mkdir("d/e", 0755);
	mkdir("full", 0755);
	mkdir("full/d", 0755);
	put("full/d/x", "");
	mkdir("locked", 0500);
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		struct err e = { 0 };

		if (geteuid() == 0 && CASES[i].kind == ERR_DENIED)
			continue; /* root is permitted to */
		assert_int_equal(
		    call(move_path, CASES[i].from, CASES[i].to, &e), -1);
		assert_code(e.code, CASES[i].code);
		assert_int_equal(e.kind, CASES[i].kind);
	}
	assert_content("a", "one");
	assert_true(there("d/e"));
}

/* A file system mounted in a directory counts as inside that directory. */
static void
nothing_is_copied_into_itself(void **state)
{
	static const char *const INTO[] = { "d/new", "d/e/new", "l/new" };
	struct err e = { 0 };

	(void)state;
	mkdir("d", 0755);
	mkdir("d/e", 0755);
	assert_int_equal(symlink("d/e", "l"), 0);
	for (size_t i = 0; i < ARRAY_LEN(INTO); i++) {
		assert_int_equal(call(move_by_copy, "d", INTO[i], &e), -1);
		assert_code(e.code, CODE_VALIDATION_FAILED);
	}
	assert_true(there("d/e") && count_names() == 2);
	assert_int_equal(call(move_by_copy, "d/e", "de", &e), 0);
	assert_true(there("de"));
}

static void
make_tree(void)
{
	struct timespec old[2] = { { 1000000000, 5000 }, { 1000000001, 6000 } };

	mkdir("t", 0750);
	mkdir("t/sub", 0700);
	put("t/sub/f", "deep");
	chmod("t/sub/f", 0751);
	assert_int_equal(symlink("nowhere", "t/dangling"), 0);
	assert_int_equal(mkfifo("t/fifo", 0622), 0);
	chmod("t/fifo", 0622);
	put("t/sparse", "begin");
	assert_int_equal(truncate("t/sparse", (off_t)1 << 40), 0);
	assert_int_equal(utimensat(AT_FDCWD, "t/sub/f", old, 0), 0);
	assert_int_equal(
	    utimensat(AT_FDCWD, "t/dangling", old, AT_SYMLINK_NOFOLLOW), 0);
	chmod("t/sub", 0500);
	assert_int_equal(utimensat(AT_FDCWD, "t/sub", old, 0), 0);
	assert_int_equal(utimensat(AT_FDCWD, "t", old, 0), 0);
}

static void
look(const char *top, const char *name, struct stat *st)
{
	char path[64];

	snprintf(path, sizeof(path), "%s%s", top, name);
	assert_int_equal(lstat(path, st), 0);
}

static void
a_copy_is_like_its_original(void **state)
{
	static const char *const NAMES[] = { "", "/sub", "/sub/f", "/dangling",
		"/fifo", "/sparse" };
	struct stat before[ARRAY_LEN(NAMES)], after;
	struct err e = { 0 };
	char target[16] = "";

	(void)state;
	make_tree();
	chmod("t/sub", 0700);
	assert_int_equal(link("t/sub/f", "t/sub/again"), 0);
	for (size_t i = 0; i < ARRAY_LEN(NAMES); i++)
		look("t", NAMES[i], &before[i]);
	chmod("t/sub", 0700); /* so that the move can empty it */
	before[1].st_mode |= 0200;
	assert_int_equal(call(move_by_copy, "t", "u", &e), 0);
	assert_false(there("t"));
	for (size_t i = 0; i < ARRAY_LEN(NAMES); i++) {
		look("u", NAMES[i], &after);
		assert_int_equal(after.st_mode, before[i].st_mode);
		assert_int_equal(after.st_mtim.tv_sec,
		    before[i].st_mtim.tv_sec);
		assert_int_equal(after.st_mtim.tv_nsec,
		    before[i].st_mtim.tv_nsec);
		if (!S_ISDIR(after.st_mode))
			assert_int_equal(after.st_size, before[i].st_size);
	}
	assert_true(after.st_blocks < 1000); /* holes stay holes */
	assert_content("u/sub/f", "deep");
	look("u", "/sub/f", &before[0]);
	look("u", "/sub/again", &after);
	assert_int_equal(after.st_ino, before[0].st_ino); /* still one file */
	assert_int_equal(readlink("u/dangling", target, sizeof(target)), 7);
	assert_int_equal(count_names(), 1);
}

static void
a_single_file_takes_the_place_of_another(void **state)
{
	struct err e = { 0 };

	(void)state;
	put("a", "new");
	put("b", "old");
	assert_int_equal(call(move_by_copy, "a", "b", &e), 0);
	assert_content("b", "new");
	assert_int_equal(count_names(), 1);
}

static void
a_copy_that_fails_leaves_all_as_it_was(void **state)
{
	struct err e = { 0 };
	char deep[200];

	(void)state;
	mkdir("t", 0700);
	put("t/file", "one");
	mkdir("t/sealed", 0700);
	put("t/sealed/file", "two");
	chmod("t/sealed", 0500);
	/* a tree deeper than a path can name: the copy fails near its bottom */
	memset(deep, 'n', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = '\0';
	assert_int_equal(chdir("t"), 0);
	for (int i = 0; i < 25; i++) {
		assert_int_equal(mkdir(deep, 0700), 0);
		assert_int_equal(chdir(deep), 0);
	}
	assert_int_equal(chdir(dir), 0);
	put("b", "old");
	assert_int_equal(call(move_by_copy, "t", "b", &e), -1);
	assert_code(e.code, CODE_NAME_TOO_LONG);
	assert_content("t/sealed/file", "two");
	assert_content("b", "old");
	assert_int_equal(count_names(), 2);
	/* and a copy that cannot be renamed into place */
	mkdir("full", 0700);
	mkdir("full/x", 0700);
	mkdir("s", 0700);
	assert_int_equal(call(move_by_copy, "s", "full", &e), -1);
	assert_code(e.code, CODE_FILE_EXISTS);
	assert_true(there("s") && there("full/x"));
	assert_int_equal(count_names(), 4);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_name_becomes_another, enter,
		    leave),
		cmocka_unit_test_setup_teardown(a_directory_takes_it_in, enter,
		    leave),
		cmocka_unit_test_setup_teardown(errors_say_whose_they_are,
		    enter, leave),
		cmocka_unit_test_setup_teardown(nothing_is_copied_into_itself,
		    enter, leave),
		cmocka_unit_test_setup_teardown(a_copy_is_like_its_original,
		    enter, leave),
		cmocka_unit_test_setup_teardown(
		    a_single_file_takes_the_place_of_another, enter, leave),
		cmocka_unit_test_setup_teardown(
		    a_copy_that_fails_leaves_all_as_it_was, enter, leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
