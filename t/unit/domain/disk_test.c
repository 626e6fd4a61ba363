/* disk_test.c: tests which session is frozen when a shared disk runs full. */
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
who_hides_is_stopped_before_who_writes_a_little(void **state)
{
	const struct disk_user u[] = {
		{ .before = 10L * MB, .now = 12L * MB, .whole = true },
		{ .before = 3L * MB, .now = 3L * MB, .whole = false },
		{ .before = 0, .now = 0, .whole = false, .frozen = true },
	};

	(void)state;
	assert_int_equal(disk_heaviest(u, ARRAY_LEN(u), 90L * MB, 40L * MB), 1);
	/* the growth that is seen explains the loss: no session is suspected */
	assert_int_equal(disk_heaviest(u, ARRAY_LEN(u), 43L * MB, 40L * MB), 0);
}

static void
of_whom_nothing_is_seen_may_hide_it_all(void **state)
{
	const struct disk_user u[] = {
		{ .before = 10L * MB, .now = 12L * MB, .whole = true },
		{ .before = 0, .now = 0, .whole = false },
	};

	(void)state;
	assert_int_equal(disk_heaviest(u, ARRAY_LEN(u), 90L * MB, 40L * MB), 1);
}

static void
who_is_over_his_limit_comes_before_who_writes(void **state)
{
	struct disk_user u[] = {
		{ .before = 10L * MB, .now = 30L * MB, .whole = true },
		{ .before = 4300L * MB,
		    .now = 4300L * MB,
		    .over = 204L * MB,
		    .whole = true },
		{ .before = 90L * MB,
		    .now = 90L * MB,
		    .over = 2L * MB,
		    .whole = true },
	};

	(void)state;
	assert_int_equal(disk_heaviest(u, ARRAY_LEN(u), 60L * MB, 40L * MB), 1);
	u[1].frozen = true;
	assert_int_equal(disk_heaviest(u, ARRAY_LEN(u), 60L * MB, 40L * MB), 2);
	u[2].frozen = true;
	assert_int_equal(disk_heaviest(u, ARRAY_LEN(u), 60L * MB, 40L * MB), 0);
}

static void
what_is_scarcer_is_the_room(void **state)
{
	static const struct {
		int64_t free, total, free_files, files, room;
	} CASES[] = {
		{ 500, 1000, 50, 100, 500 },
		{ 500, 1000, 10, 100, 100 },
		{ 500, 1000, 0, 100, 0 },
		{ 100, 1000, 90, 100, 100 },
		{ 500, 1000, 0, 0, 500 },  /* the disk has no inode count */
		{ 500, 1000, 0, -1, 500 }, /* nor a sensible one */
		{ INT64_C(1) << 60, INT64_C(1) << 61, INT64_C(1) << 40,
		    INT64_C(1) << 42, INT64_C(1) << 59 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
		assert_int_equal(disk_room(CASES[i].free, CASES[i].total,
				     CASES[i].free_files, CASES[i].files),
		    CASES[i].room);
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
		cmocka_unit_test(
		    who_hides_is_stopped_before_who_writes_a_little),
		cmocka_unit_test(of_whom_nothing_is_seen_may_hide_it_all),
		cmocka_unit_test(who_is_over_his_limit_comes_before_who_writes),
		cmocka_unit_test(what_is_scarcer_is_the_room),
		cmocka_unit_test(nobody_there_nobody_stopped),
		cmocka_unit_test(the_marks_lie_apart),
	};

	return cmocka_run_group_tests_name("disk", tests, NULL, NULL);
}
