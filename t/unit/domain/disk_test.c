/* disk_test.c: whom to stop when a shared disk runs full. */
#include "../unit.h"

#include "common/mem.h"
#include "domain/disk.h"

enum { MB = 1024 * 1024 };

static void
the_heaviest_is_who_writes_not_who_has_most(void **state)
{
	const struct disk_user u[] = {
		{ .before = 900L * MB, .now = 900L * MB, .whole = true },
		{ .before = 10L * MB, .now = 90L * MB, .whole = true },
		{ .before = 20L * MB, .now = 50L * MB, .whole = true },
	};

	(void)state;
	assert_int_equal(disk_heaviest(u, ARRAY_LEN(u), 50L * MB, 40L * MB), 1);
}

static void
who_is_frozen_is_not_frozen_again(void **state)
{
	const struct disk_user u[] = {
		{ .before = 10L * MB,
		    .now = 90L * MB,
		    .whole = true,
		    .frozen = true },
		{ .before = 20L * MB, .now = 50L * MB, .whole = true },
	};

	(void)state;
	assert_int_equal(disk_heaviest(u, ARRAY_LEN(u), 50L * MB, 40L * MB), 1);
}

static void
when_nobody_is_seen_writing_the_largest_is_stopped(void **state)
{
	const struct disk_user u[] = {
		{ .before = 10L * MB, .now = 10L * MB, .whole = true },
		{ .before = 500L * MB, .now = 500L * MB, .whole = true },
	};

	(void)state;
	assert_int_equal(disk_heaviest(u, ARRAY_LEN(u), 40L * MB, 40L * MB), 1);
}

static void
once_one_is_stopped_the_others_need_proof(void **state)
{
	const struct disk_user u[] = {
		{ .before = 10L * MB, .now = 10L * MB, .whole = true },
		{ .before = 500L * MB,
		    .now = 500L * MB,
		    .whole = true,
		    .frozen = true },
	};

	(void)state;
	assert_int_equal(disk_heaviest(u, ARRAY_LEN(u), 50L * MB, 40L * MB),
	    -1);
	assert_int_equal(disk_heaviest(u, ARRAY_LEN(u), 40L * MB, 40L * MB),
	    -1);
}

static void
once_one_is_stopped_a_little_may_be_written(void **state)
{
	const struct disk_user u[] = {
		{ .before = 10L * MB, .now = 11L * MB, .whole = true },
		{ .before = 500L * MB,
		    .now = 500L * MB,
		    .whole = true,
		    .frozen = true },
	};

	(void)state;
	assert_int_equal(disk_heaviest(u, ARRAY_LEN(u), 65L * MB, 64L * MB),
	    -1);
	assert_int_equal(disk_heaviest(u, ARRAY_LEN(u), 17L * MB, 16L * MB), 0);
}

static void
who_hides_is_stopped_while_space_vanishes(void **state)
{
	const struct disk_user u[] = {
		{ .before = 500L * MB, .now = 500L * MB, .whole = true },
		{ .before = 10L * MB, .now = 10L * MB, .whole = false },
		{ .before = 5L * MB,
		    .now = 5L * MB,
		    .whole = true,
		    .frozen = true },
	};

	(void)state;
	assert_int_equal(disk_heaviest(u, ARRAY_LEN(u), 50L * MB, 40L * MB), 1);
	assert_int_equal(disk_heaviest(u, ARRAY_LEN(u), 40L * MB, 40L * MB),
	    -1);
}

static void
nobody_there_nobody_stopped(void **state)
{
	const struct disk_user empty = { .whole = true };

	(void)state;
	assert_int_equal(disk_heaviest(&empty, 0, 2, 1), -1);
	assert_int_equal(disk_heaviest(&empty, 1, 2, 1), -1);
}

static void
the_marks_lie_apart(void **state)
{
	(void)state;
	assert_int_equal(disk_critical(1024L * MB), 256L * MB);
	assert_int_equal(disk_relaxed(1024L * MB), 1280L * MB);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_heaviest_is_who_writes_not_who_has_most),
		cmocka_unit_test(who_is_frozen_is_not_frozen_again),
		cmocka_unit_test(
		    when_nobody_is_seen_writing_the_largest_is_stopped),
		cmocka_unit_test(once_one_is_stopped_the_others_need_proof),
		cmocka_unit_test(once_one_is_stopped_a_little_may_be_written),
		cmocka_unit_test(who_hides_is_stopped_while_space_vanishes),
		cmocka_unit_test(nobody_there_nobody_stopped),
		cmocka_unit_test(the_marks_lie_apart),
	};

	return cmocka_run_group_tests_name("disk", tests, NULL, NULL);
}
