/* gitconfig_test.c: tests the .gitconfig with the name of a session's user. */
#include "t/unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/git/config.h"
#include "common/mem.h"

static void
values_are_quoted_as_git_wants_them(void **state)
{
	static const struct {
		const char *name, *text;
	} CASES[] = {
		{ "ann", "[user]\n\tname = \"ann\"\n\temail = \"a@b\"\n" },
		{ "a \"b\" \\ # ; c",
		    "[user]\n\tname = \"a \\\"b\\\" \\\\ # ; c\"\n"
		    "\temail = \"a@b\"\n" },
		{ "a\n[core]\r\t",
		    "[user]\n\tname = \"a[core]\"\n"
		    "\temail = \"a@b\"\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		auto_buf struct buf text = { 0 };

		gitconfig_text(CASES[i].name, "a@b", &text);
		assert_string_equal(text.data, CASES[i].text);
	}
}

static void
a_file_that_is_there_stays(void **state)
{
	char dir[] = "/tmp/gitconfig_test.XXXXXX", path[64];
	struct stat first, then;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/.gitconfig", dir);
	gitconfig_write(path, "", "a@b");
	assert_int_equal(stat(path, &first), -1);
	gitconfig_write(path, "ann", "a@b");
	assert_int_equal(stat(path, &first), 0);
	gitconfig_write(path, "somebody longer", "a@b");
	assert_int_equal(stat(path, &then), 0);
	assert_int_equal(first.st_size, then.st_size);
	unlink(path);
	rmdir(dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_quoted_as_git_wants_them),
		cmocka_unit_test(a_file_that_is_there_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
