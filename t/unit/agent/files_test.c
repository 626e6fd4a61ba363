/* files_test.c: tests the reading and writing of files. */
#include "../unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/files/files.h"
#include "agent/files/temp_file.h"
#include "common/mem.h"

static char dir[] = "/tmp/sl-files-XXXXXX";

static const char *
in_dir(const char *name)
{
	static char path[FILES_PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static int
put(const char *name, const char *text, int mode, struct err *e)
{
	struct temp_file_source from = { .data = text,
		.len = strlen(text),
		.fd = -1 };

	return temp_file_write_file(in_dir(name), &from, mode, e);
}

static void
assert_content(const char *name, const char *want)
{
	char text[64] = "";
	FILE *f = fopen(in_dir(name), "r");

	assert_non_null(f);
	assert_int_equal(fread(text, 1, sizeof(text) - 1, f), strlen(want));
	assert_string_equal(text, want);
	fclose(f);
}

static void
paths_are_meant_in_a_directory(void **state)
{
	static const struct {
		const char *cwd, *path, *want;
	} CASES[] = {
		{ "/w", "a/b", "/w/a/b" },
		{ "/w", "/a", "/a" },
		{ "/", "a", "/a" },
		{ "/w", ".", "/w/" },
		{ "/w", "./a//b/./c", "/w/a/b/c" },
		{ "/w", "a/", "/w/a/" },
		{ "/w", "a/.", "/w/a/" },
		{ "/w", "..", "/w/.." },
		{ "/w", "../.x/...", "/w/../.x/..." },
		{ "/w", "/", "/" },
		{ "/w", "//./", "/" },
		{ "/", ".", "/" },
	};
	char out[FILES_PATH_MAX], *longest = xmalloc(FILES_PATH_MAX + 1);
	struct err e = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		assert_int_equal(
		    files_resolve(CASES[i].cwd, CASES[i].path, out, &e), 0);
		assert_string_equal(out, CASES[i].want);
	}
	assert_int_equal(files_resolve("/w", "", out, &e), -1);
	memset(longest, 'x', FILES_PATH_MAX);
	longest[FILES_PATH_MAX] = '\0';
	for (size_t cut = 0; cut < 4; cut++) {
		longest[FILES_PATH_MAX - cut] = '\0';
		assert_int_equal(files_resolve("/", longest, out, &e),
		    cut < 3 ? -1 : 0);
	}
	assert_string_equal(e.field, "path");
	free(longest);
}

static void
a_write_makes_parents_and_keeps_the_mode(void **state)
{
	struct err e = { 0 };
	struct stat st;

	(void)state;
	assert_int_equal(put("p/q/file", "one", -1, &e), 0);
	assert_content("p/q/file", "one");
	assert_int_equal(chmod(in_dir("p/q/file"), 0750), 0);
	assert_int_equal(put("p/q/file", "two", -1, &e), 0);
	assert_int_equal(stat(in_dir("p/q/file"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0750);
	assert_int_equal(put("p/q/file", "three", 0600, &e), 0);
	assert_int_equal(stat(in_dir("p/q/file"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_content("p/q/file", "three");
}

static void
a_link_is_followed(void **state)
{
	struct err e = { 0 };
	struct stat st;

	(void)state;
	assert_int_equal(put("target", "old", -1, &e), 0);
	assert_int_equal(symlink("target", in_dir("link")), 0);
	assert_int_equal(put("link", "new", -1, &e), 0);
	assert_content("target", "new");
	assert_int_equal(lstat(in_dir("link"), &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(symlink("loop", in_dir("loop")), 0);
	assert_int_equal(put("loop", "x", -1, &e), -1);
	assert_code(e.code, CODE_TOO_MANY_LINKS);
}

static void
a_descriptor_is_a_source_too(void **state)
{
	auto_fd int fd = open(in_dir("from"), O_RDWR | O_CREAT, 0600);
	struct err e = { 0 };

	(void)state;
	assert_int_equal(write(fd, "bytes", 5), 5);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(temp_file_write_file(in_dir("to"),
			     &(struct temp_file_source){ .fd = fd }, -1, &e),
	    0);
	assert_content("to", "bytes");
}

static void
errors_have_the_containers_codes(void **state)
{
	static const struct {
		const char *name;
		enum err_code code;
		enum err_kind kind;
	} CASES[] = {
		{ "target/x", CODE_NOT_DIRECTORY, ERR_INVALID },
		{ "target/x/y", CODE_NOT_DIRECTORY, ERR_INVALID },
		{ "p", CODE_IS_DIRECTORY, ERR_INVALID },
		{ "p/", CODE_IS_DIRECTORY, ERR_INVALID },
		{ "new/", CODE_IS_DIRECTORY, ERR_INVALID },
		{ "pipe", CODE_RESOURCE_BUSY, ERR_CONFLICT },
	};

	(void)state;
	assert_int_equal(mkfifo(in_dir("pipe"), 0600), 0);
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		struct err e = { 0 };

		assert_int_equal(put(CASES[i].name, "x", -1, &e), -1);
		assert_code(e.code, CASES[i].code);
		assert_int_equal(e.kind, CASES[i].kind);
	}
}

static void
a_full_device_says_so(void **state)
{
	struct err e = { 0 };

	(void)state;
	assert_int_equal(symlink("/dev/full", in_dir("full")), 0);
	assert_int_equal(put("full", "x", -1, &e), -1);
	assert_code(e.code, CODE_NO_SPACE);
}

static void
a_file_in_a_locked_directory_is_written_in_its_place(void **state)
{
	struct err e = { 0 };

	(void)state;
	assert_int_equal(put("locked/file", "longer", -1, &e), 0);
	assert_int_equal(chmod(in_dir("locked"), 0500), 0);
	assert_int_equal(put("locked/file", "new", -1, &e), 0);
	assert_content("locked/file", "new");
	assert_int_equal(chmod(in_dir("locked"), 0700), 0);
}

static void
directories_are_made_with_and_without_parents(void **state)
{
	static const struct {
		const char *name;
		bool parents;
		enum err_code code;
	} CASES[] = {
		{ "m", false, CODE_NONE },
		{ "m", false, CODE_FILE_EXISTS },
		{ "m", true, CODE_NONE },
		{ "n/o", false, CODE_FILE_NOT_FOUND },
		{ "n/o", true, CODE_NONE },
		{ "n/o/p/", true, CODE_NONE },
		{ "target", true, CODE_FILE_EXISTS },
		{ "target/x", true, CODE_NOT_DIRECTORY },
		{ "n/../r/s", true, CODE_NONE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		struct err e = { 0 };
		int rc =
		    files_make_dir(in_dir(CASES[i].name), CASES[i].parents, &e);

		assert_int_equal(rc, CASES[i].code == CODE_NONE ? 0 : -1);
		if (rc < 0)
			assert_code(e.code, CASES[i].code);
	}
}

static void
what_is_below_a_directory_has_a_path_there(void **state)
{
	(void)state;
	assert_string_equal(files_below("/a/b/c", "/a/b"), "c");
	assert_string_equal(files_below("/a/b/c/d", "/a/b"), "c/d");
	assert_null(files_below("/a/b", "/a/b"));
	assert_null(files_below("/a/bc", "/a/b"));
	assert_null(files_below("/a", "/a/b"));
}

static int
make_dir(void **state)
{
	(void)state;
	return mkdtemp(dir) == NULL;
}

static int
remove_dir(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_are_meant_in_a_directory),
		cmocka_unit_test(what_is_below_a_directory_has_a_path_there),
		cmocka_unit_test(a_write_makes_parents_and_keeps_the_mode),
		cmocka_unit_test(a_link_is_followed),
		cmocka_unit_test(a_descriptor_is_a_source_too),
		cmocka_unit_test(errors_have_the_containers_codes),
		cmocka_unit_test(a_full_device_says_so),
		cmocka_unit_test(
		    a_file_in_a_locked_directory_is_written_in_its_place),
		cmocka_unit_test(directories_are_made_with_and_without_parents),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
