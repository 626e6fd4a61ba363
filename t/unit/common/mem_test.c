/* mem_test.c: tests the attributes that release memory and descriptors. */
#include "../unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/mem.h"

static bool
is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0 || errno != EBADF;
}

static void
an_owned_descriptor_closes_at_the_end_of_its_block(void **state)
{
	int seen;

	(void)state;
	{
		auto_fd int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

		seen = fd;
		assert_true(is_open(seen));
	}
	assert_false(is_open(seen));
}

static void
descriptor_0_is_a_descriptor(void **state)
{
	int saved = dup(STDIN_FILENO);

	(void)state;
	{
		auto_fd int fd = STDIN_FILENO;
	}
	assert_false(is_open(STDIN_FILENO));
	dup2(saved, STDIN_FILENO);
	close(saved);
}

static void
what_was_taken_stays_open(void **state)
{
	int taken;

	(void)state;
	{
		auto_fd int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

		taken = take_fd(&fd);
		assert_int_equal(fd, -1);
	}
	assert_true(is_open(taken));
	close(taken);
}

static void
taking_a_pointer_leaves_null(void **state)
{
	char *kept;

	(void)state;
	{
		auto_free char *s = xstrdup("kept");

		kept = TAKE(s);
		assert_null(s);
	}
	assert_string_equal(kept, "kept");
	free(kept);
}

static void
nothing_is_still_something(void **state)
{
	auto_free void *a = xmalloc(0);
	auto_free void *b = xcalloc(0, 0);
	auto_free void *c = xrealloc(NULL, 0);
	auto_free char *d = xasprintf("%s-%d", "x", 7);
	auto_free char *zero = xcalloc(4, 4);

	(void)state;
	assert_non_null(a);
	assert_non_null(b);
	assert_non_null(c);
	assert_string_equal(d, "x-7");
	assert_memory_equal(zero, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
		cmocka_unit_test(
		    an_owned_descriptor_closes_at_the_end_of_its_block),
		cmocka_unit_test(descriptor_0_is_a_descriptor),
		cmocka_unit_test(what_was_taken_stays_open),
		cmocka_unit_test(taking_a_pointer_leaves_null),
		cmocka_unit_test(nothing_is_still_something),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
