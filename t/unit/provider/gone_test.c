/* gone_test.c: tests the index of tombstones. */
#include "../unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/str.h"
#include "provider/box/gone.h"
#include "provider/host/file.h"

static const char A[] = "ses-51256c9fcd04ef0144d0afcdfb9ffb2abc280ff2e0bae370";
static const char B[] = "org-51256c9fcd04ef0144d0afcdfb9ffb2abc280ff2e0bae370";
static char BASE[] = "/tmp/slgoneXXXXXX";
static struct conf CONF = { .cgroup_root = "none", .agent_log_kb = 1 };
static struct provider P = { .conf = &CONF, .installation = "a" };

static int
set_up(void **state)
{
	auto_free char *boxes = NULL;

	(void)state;
	if (mkdtemp(BASE) == NULL)
		return -1;
	snprintf(CONF.state_dir, sizeof(CONF.state_dir), "%s", BASE);
	boxes = xasprintf("%s/box", BASE);
	return mkdir(boxes, 0700);
}

static int
tear_down(void **state)
{
	auto_free char *gone = xasprintf("%s/box/.gone", BASE);
	auto_free char *boxes = xasprintf("%s/box", BASE);

	(void)state;
	return rmdir(gone) < 0 || rmdir(boxes) < 0 ? -1 : rmdir(BASE);
}

static void
set_state(const char *id, enum record_state state, int64_t age_seconds)
{
	auto_box struct box b = BOX_CLOSED;
	struct record r = { .state = state, .incarnation = "i" };
	struct timespec at[2] = { { .tv_sec = time(NULL) - age_seconds },
		{ .tv_sec = time(NULL) - age_seconds } };
	struct err e = { 0 };

	assert_int_equal(box_make(&P, id, &b, &e), 0);
	assert_int_equal(box_set_record(&b, &r, &e), 0);
	assert_int_equal(utimensat(b.dir, "incarnation", at, 0), 0);
	if (state == RECORD_DESTROYED)
		gone_add(&b);
}

/* Renames all entries: they were made so long ago. */
static void
age_entries(int64_t seconds)
{
	auto_free char *path = xasprintf("%s/box/.gone", BASE);
	auto_names char **names = NULL;
	struct err e = { 0 };

	assert_int_equal(file_names(AT_FDCWD, path, &names, &e), 0);
	for (char **n = names; *n != NULL; n++) {
		auto_free char *from = xasprintf("%s/%s", path, *n);
		auto_free char *to = xasprintf("%s/%lld%s", path,
		    strtoll(*n, NULL, 10) - (long long)seconds,
		    strchr(*n, '.'));

		assert_int_equal(rename(from, to), 0);
	}
}

static bool
has_box(const char *id)
{
	auto_free char *path = xasprintf("%s/box/%s", BASE, id);

	return access(path, F_OK) == 0;
}

static size_t
entries(void)
{
	auto_gone struct gone_list l = { 0 };
	struct err e = { 0 };

	assert_int_equal(gone_list(&P, &l, &e), 0);
	return l.count;
}

static void
bury(void)
{
	struct err e = { 0 };

	assert_int_equal(gone_bury(&P, INT64_MAX, &e), 0);
}

static void
a_tombstone_is_listed_and_goes_after_an_hour(void **state)
{
	auto_gone struct gone_list l = { 0 };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(entries(), 0);
	set_state(A, RECORD_DESTROYED, 0);
	set_state(B, RECORD_DESTROYED, BOX_TOMBSTONE_SECONDS + 1);
	assert_int_equal(gone_list(&P, &l, &e), 0);
	assert_int_equal(l.count, 2);
	assert_true(gone_has(&l, A) && gone_has(&l, B));
	assert_false(gone_has(&l, "ses-"));
	bury();
	assert_true(has_box(A) && has_box(B));
	age_entries(BOX_TOMBSTONE_SECONDS);
	bury();
	/* A's entry is old, its tombstone is not: that is the box's matter */
	assert_true(has_box(A));
	assert_false(has_box(B));
	assert_int_equal(entries(), 0);
	set_state(A, RECORD_DESTROYED, BOX_TOMBSTONE_SECONDS + 1);
	age_entries(BOX_TOMBSTONE_SECONDS);
	bury();
	assert_false(has_box(A));
}

static void
one_that_was_started_again_loses_its_entry_alone(void **state)
{
	(void)state;
	set_state(A, RECORD_DESTROYED, 0);
	set_state(A, RECORD_LIVE, BOX_TOMBSTONE_SECONDS + 1);
	age_entries(BOX_TOMBSTONE_SECONDS);
	bury();
	assert_true(has_box(A));
	assert_int_equal(entries(), 0);
	set_state(A, RECORD_DESTROYED, BOX_TOMBSTONE_SECONDS + 1);
	age_entries(BOX_TOMBSTONE_SECONDS);
	bury();
	assert_false(has_box(A));
}

static void
what_is_no_entry_is_left_alone(void **state)
{
	static const char *const OTHERS[] = { "x", "1.x", ".", "-1.",
		"99999999999999999999999999999." };

	(void)state;
	for (size_t i = 2; i < ARRAY_LEN(OTHERS) + 2; i++) {
		const char *other = OTHERS[i % ARRAY_LEN(OTHERS)];
		auto_free char *path = xasprintf("%s/box/.gone/%s%s", BASE,
		    other, i >= 5 ? "" : A);
		int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

		assert_true(fd >= 0);
		close(fd);
		assert_int_equal(entries(), 0);
		bury();
		assert_int_equal(unlink(path), 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tombstone_is_listed_and_goes_after_an_hour),
		cmocka_unit_test(
		    one_that_was_started_again_loses_its_entry_alone),
		cmocka_unit_test(what_is_no_entry_is_left_alone),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
