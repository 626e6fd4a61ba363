/* file_test.c: tests notes, lists and small files when the disk fails. */
#include "../tree.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "common/mem.h"
#include "common/str.h"
#include "provider/host/file.h"

/* The next list ends with an error of the disk (--wrap). */
static bool BREAKS_OFF;

struct dirent *__real_readdir(DIR *d);
struct dirent *__wrap_readdir(DIR *d);

struct dirent *
__wrap_readdir(DIR *d)
{
	if (!BREAKS_OFF)
		return __real_readdir(d);
	BREAKS_OFF = false;
	errno = EIO;
	return NULL;
}

/* A crash may leave half a line: it never counts, nor spoils the next. */
static void
only_the_last_whole_note_counts(void **state)
{
	static const struct {
		const char *file, *last;
	} CASES[] = {
		{ "", "" },
		{ "{old}", "{old}" },
		{ "\n{a}\n", "{a}" },
		{ "\n{a}\n\n{b}\n", "{b}" },
		{ "\n{a}\n\n{b", "{a}" },
		{ "{old}\n{half\n{b}\n", "{b}" },
	};
	struct err e = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		auto_buf struct buf last = { 0 };

		assert_int_equal(
		    file_write(AT_FDCWD, "proc", CASES[i].file, &e), 0);
		assert_int_equal(
		    file_last_note(AT_FDCWD, "proc", 4096, &last, &e), 0);
		assert_string_equal(last.len > 0 ? last.data : "",
		    CASES[i].last);
	}
}

/* Some file systems lose the bytes of the last write and keep its length. */
static void
a_hole_after_a_power_failure_hides_no_later_note(void **state)
{
	static const char TEXT[] = "\n{a}\n\0\0\0";
	auto_buf struct buf before = { 0 }, after = { 0 };
	auto_fd int fd = -1;
	struct err e = { 0 };

	(void)state;
	fd = openat(AT_FDCWD, "proc", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, TEXT, sizeof(TEXT)), sizeof(TEXT));
	assert_int_equal(file_last_note(AT_FDCWD, "proc", 4096, &before, &e),
	    0);
	assert_string_equal(before.data, "{a}");
	assert_int_equal(file_note(AT_FDCWD, "proc", "{b}", &e), 0);
	assert_int_equal(file_last_note(AT_FDCWD, "proc", 4096, &after, &e), 0);
	assert_string_equal(after.data, "{b}");
}

static void
notes_do_not_grow_without_end(void **state)
{
	struct err e = { 0 };
	struct stat st;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		auto_free char *text = xasprintf("{a note of %d}", i);
		auto_buf struct buf last = { 0 };

		assert_int_equal(file_note(AT_FDCWD, "proc", text, &e), 0);
		assert_int_equal(
		    file_last_note(AT_FDCWD, "proc", 16384, &last, &e), 0);
		assert_string_equal(last.data, text);
	}
	assert_int_equal(fstatat(AT_FDCWD, "proc", &st, 0), 0);
	assert_true(st.st_size < 9000);
}

static void
a_list_that_breaks_off_is_an_error(void **state)
{
	auto_names char **names = NULL, **again = NULL;
	struct err e = { 0 };

	(void)state;
	BREAKS_OFF = true;
	assert_int_equal(file_names(AT_FDCWD, ".", &names, &e), -1);
	assert_int_equal(file_names(AT_FDCWD, ".", &again, &e), 0);
}

static void
a_write_that_fails_leaves_nothing(void **state)
{
	auto_names char **names = NULL;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(mkdirat(AT_FDCWD, "taken", 0700), 0);
	assert_int_equal(file_write(AT_FDCWD, "taken", "{}", &e), -1);
	assert_int_equal(file_names(AT_FDCWD, ".", &names, &e), 0);
	assert_string_equal(names[0], "taken");
	assert_null(names[1]);
}

#define test(f) cmocka_unit_test_setup_teardown(f, enter, leave)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		test(only_the_last_whole_note_counts),
		test(a_hole_after_a_power_failure_hides_no_later_note),
		test(notes_do_not_grow_without_end),
		test(a_list_that_breaks_off_is_an_error),
		test(a_write_that_fails_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
