/* limits_view_test.c: tests the texts that show a cell's limits. */
#include "../unit.h"

#include <string.h>

#include "agent/cell/limits_view.h"
#include "common/mem.h"

static void
memory_in_use_is_taken_from_what_is_left(void **state)
{
	static const struct {
		int64_t own_kb, files_kb;
		const char *left, *cached;
	} CASES[] = {
		{ 0, 0, "MemAvailable:          1024 kB\n",
		    "Cached:                   0 kB\n" },
		{ 100, 24, "MemAvailable:           900 kB\n",
		    "Cached:                  24 kB\n" },
		{ 5000, 1, "MemAvailable:             0 kB\n",
		    "Cached:                   1 kB\n" },
	};
	size_t len = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		auto_buf struct buf b = { 0 };

		limits_view_meminfo(1024, CASES[i].own_kb, CASES[i].files_kb,
		    &b);
		assert_non_null(
		    strstr(b.data, "MemTotal:              1024 kB\n"));
		assert_non_null(strstr(b.data, CASES[i].left));
		assert_non_null(strstr(b.data, CASES[i].cached));
		/* the text is written over the old one of the same length */
		assert_true(len == 0 || len == b.len);
		len = b.len;
	}
}

static void
processors_after_the_last_one_shown_are_cut(void **state)
{
	static const char TEXT[] = "processor\t: 0\nmodel\t: a\n\n"
				   "processor\t: 1\nmodel\t: a\n\n"
				   "processor\t: 2\nmodel\t: a\n\n";
	static const struct {
		int64_t count;
		size_t len;
	} CASES[] = { { 1, 25 }, { 2, 50 }, { 3, 75 }, { 9, 75 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
		assert_int_equal(limits_view_cpus(TEXT, CASES[i].count),
		    CASES[i].len);
	assert_int_equal(limits_view_cpus("", 1), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_in_use_is_taken_from_what_is_left),
		cmocka_unit_test(processors_after_the_last_one_shown_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
