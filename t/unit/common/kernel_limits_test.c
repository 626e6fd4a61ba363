/* kernel_limits_test.c: tests warnings of too small kernel settings. */
#include "../unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/kernel_limits.h"
#include "common/mem.h"
#include "common/str.h"

static char ROOT[] = "/tmp/sl-kernelXXXXXX";
static struct buf SAID;

static const char *const DIRS[] = { "fs", "fs/epoll", "fs/inotify", "kernel",
	"kernel/pty", "net", "net/ipv4" };
static const struct {
	const char *file, *little, *enough;
} FILES[] = {
	{ "fs/file-max", "2462388", "9223372036854775807" },
	{ "kernel/pid_max", "32768", "4194304" },
	{ "kernel/pty/max", "4096", "1048576" },
	{ "fs/epoll/max_user_watches", "5483052", "1073741824" },
	{ "fs/inotify/max_user_instances", "128", "1048576" },
	{ "fs/inotify/max_user_watches", "192240", "1073741824" },
	{ "fs/pipe-user-pages-soft", "16384", "1073741824" },
	{ "fs/pipe-user-pages-soft", "16384", "0" },
	{ "net/ipv4/tcp_max_orphans", "131072", "16777216" },
};

static void
say(const char *text)
{
	buf_fmt(&SAID, "%s\n", text);
}

static char *
at(const char *name)
{
	return xasprintf("%s/%s", ROOT, name);
}

static void
put(const char *name, const char *text)
{
	auto_free char *path = at(name);
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fprintf(f, "%s\n", text);
	fclose(f);
}

static void
each_that_is_too_small_is_named(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(FILES); i++)
		put(FILES[i].file, FILES[i].enough);
	assert_int_equal(kernel_limits_check(ROOT, say), 0);
	assert_int_equal(SAID.len, 0);
	for (size_t i = 0; i < ARRAY_LEN(FILES); i++) {
		put(FILES[i].file, FILES[i].little);
		assert_int_equal(kernel_limits_check(ROOT, say), 1);
		assert_non_null(strstr(SAID.data, FILES[i].little));
		put(FILES[i].file, FILES[i].enough);
		buf_free(&SAID);
	}
}

static void
one_that_is_not_there_is_none(void **state)
{
	(void)state;
	assert_int_equal(kernel_limits_check("/nonexistent", say), 0);
}

static int
set_up(void **state)
{
	(void)state;
	if (mkdtemp(ROOT) == NULL)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(DIRS); i++) {
		auto_free char *path = at(DIRS[i]);

		if (mkdir(path, 0755) < 0)
			return -1;
	}
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(FILES); i++) {
		auto_free char *path = at(FILES[i].file);

		unlink(path);
	}
	for (size_t i = ARRAY_LEN(DIRS); i-- > 0;) {
		auto_free char *path = at(DIRS[i]);

		rmdir(path);
	}
	return rmdir(ROOT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_that_is_too_small_is_named),
		cmocka_unit_test(one_that_is_not_there_is_none),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
