/* box_test.c: names, labels, locks, logs and tombstones. */
#include "../unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"
#include "provider/box.h"
#include "provider/file.h"

static const char ID[] = "ses-51256c9fcd04ef0144d0afcdfb9ffb2abc280ff2e0bae370";
static char BASE[] = "/tmp/slboxXXXXXX";
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
	auto_free char *boxes = xasprintf("%s/box", BASE);

	(void)state;
	return rmdir(boxes) < 0 ? -1 : rmdir(BASE);
}

/* Makes the box's tombstone an hour older. */
static void
age(const struct box *b)
{
	struct timespec then[2] = { { .tv_sec = time(NULL) -
					    BOX_TOMBSTONE_SECONDS - 1 },
		{ .tv_sec = time(NULL) - BOX_TOMBSTONE_SECONDS - 1 } };

	assert_int_equal(utimensat(b->dir, "incarnation", then, 0), 0);
}

static bool
exists(const char *name)
{
	auto_free char *path = xasprintf("%s/box/%s", BASE, name);

	return access(path, F_OK) == 0;
}

/* Buries what a test has made. */
static void
clean(const char *id)
{
	auto_box struct box b = BOX_CLOSED;
	struct record r = { .state = RECORD_DESTROYED };
	struct err e = { 0 };

	assert_int_equal(box_make(&P, id, &b, &e), 0);
	assert_int_equal(box_set_record(&b, &r, &e), 0);
	age(&b);
	if (box_bury(&P, b.name, &e) < 0)
		fail_msg("%s", e.msg);
	assert_false(exists(b.name));
}

/* clang-format off */
static const struct { const char *id, *name; } NAMES[] = {
	{ "ses-51256c9fcd04ef0144d0afcdfb9ffb2abc280ff2e0bae370", "ses-51256c9fcd04ef0144d0afcdfb9ffb2abc280ff2e0bae370" },
	{ "ubt-51256c9fcd04ef0144d0afcdfb9ffb2abc280ff2e0bae370", "ubt-51256c9fcd04ef0144d0afcdfb9ffb2abc280ff2e0bae370" },
	/* the hashes of contracts: raw ids never become paths */
	{ "org-id__user-id", "leg-aa6ba1f356e062c430f121b97b5fd9cfd64c51487e5f28c5" },
	{ "agent_abc123", "leg-51256c9fcd04ef0144d0afcdfb9ffb2abc280ff2e0bae370" },
	/* a name is its own name, as reconciliation has only that */
	{ "leg-51256c9fcd04ef0144d0afcdfb9ffb2abc280ff2e0bae370", "leg-51256c9fcd04ef0144d0afcdfb9ffb2abc280ff2e0bae370" },
};
static const char *const NOT_NAMES[] = {
	"", ".", "..", "../../etc", "ses-", "ses-51256c9fcd04ef0144d0afcdfb9ffb2abc280ff2e0bae37",
	"ses-51256c9fcd04ef0144d0afcdfb9ffb2abc280ff2e0bae3700", "ses-51256C9fcd04ef0144d0afcdfb9ffb2abc280ff2e0bae370",
	"abc-51256c9fcd04ef0144d0afcdfb9ffb2abc280ff2e0bae370", "ses-/1256c9fcd04ef0144d0afcdfb9ffb2abc280ff2e0bae370",
};
/* clang-format on */

static void
ids_become_names_that_are_safe_in_a_path(void **state)
{
	char name[BOX_NAME_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(NAMES); i++) {
		box_name(NAMES[i].id, name);
		assert_string_equal(name, NAMES[i].name);
		assert_true(box_is_name(name));
	}
	for (size_t i = 0; i < ARRAY_LEN(NOT_NAMES); i++) {
		assert_false(box_is_name(NOT_NAMES[i]));
		box_name(NOT_NAMES[i], name);
		assert_true(box_is_name(name));
	}
}

static void
a_label_says_whose_it_is(void **state)
{
	auto_box struct box b = BOX_CLOSED, again = BOX_CLOSED;
	struct provider other = { .conf = &CONF, .installation = "b" };
	char id[SANDBOX_ID_MAX];
	struct err e = { 0 };
	bool ours;

	(void)state;
	assert_int_equal(box_make(&P, "raw__id", &b, &e), 0);
	assert_int_equal(box_label(&P, &b, &ours, id, &e), 0);
	assert_true(ours);
	assert_string_equal(id, "raw__id");
	assert_int_equal(box_label(&other, &b, &ours, id, &e), 0);
	assert_false(ours);
	assert_int_equal(box_make(&other, "raw__id", &again, &e), -1);
	assert_code(e.code, CODE_NOT_OURS);
	clean("raw__id");
}

static void
one_operation_at_a_time(void **state)
{
	auto_box struct box b = BOX_CLOSED;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(box_lock(&P, ID, clock_ms(), &b, &e), 0);
	{
		auto_box struct box second = BOX_CLOSED;

		/* wait: it is held until the end of this block */
		assert_int_equal(box_lock(&P, ID, clock_ms() + 20, &second, &e),
		    -1);
		assert_int_equal(e.kind, ERR_BUSY);
	}
	box_close(&b);
	assert_int_equal(box_lock(&P, ID, clock_ms(), &b, &e), 0);
	box_close(&b);
	clean(ID);
}

static void
a_held_lock_shows_until_its_last_holder_is_gone(void **state)
{
	auto_box struct box b = BOX_CLOSED;
	struct err e = { 0 };
	int lock, inherited;
	bool held;

	(void)state;
	assert_int_equal(box_make(&P, ID, &b, &e), 0);
	assert_int_equal(box_held(&b, &held, &e), 0);
	assert_false(held);
	lock = box_hold(&b, clock_ms(), &e);
	assert_true(lock >= 0);
	inherited = dup(lock);
	close(lock);
	assert_int_equal(box_held(&b, &held, &e), 0);
	assert_true(held);
	assert_int_equal(box_hold(&b, clock_ms(), &e), -1);
	close(inherited);
	assert_int_equal(box_held(&b, &held, &e), 0);
	assert_false(held);
	clean(ID);
}

static void
a_log_is_set_aside_when_it_is_too_large(void **state)
{
	auto_box struct box b = BOX_CLOSED;
	auto_buf struct buf tail = { 0 }, rest = { 0 }, fresh = { 0 };
	char line[1025];
	struct err e = { 0 };
	int log;

	(void)state;
	memset(line, 'x', sizeof(line));
	assert_int_equal(box_make(&P, ID, &b, &e), 0);
	log = box_log(&P, &b, &e);
	assert_int_equal(write(log, line, sizeof(line)), sizeof(line));
	assert_int_equal(write(log, "end\n", 4), 4);
	close(log);
	assert_int_equal(box_log_tail(&b, 0, 5, &tail, &e), 0);
	assert_string_equal(tail.data, "xend\n");
	assert_int_equal(box_log_tail(&b, 1025, 100, &rest, &e), 0);
	assert_string_equal(rest.data, "end\n");
	close(box_log(&P, &b, &e));
	assert_int_equal(box_log_tail(&b, 0, 5, &fresh, &e), 0);
	assert_int_equal(fresh.len, 0);
	assert_int_equal(faccessat(b.dir, "agent.log.1", F_OK, 0), 0);
	clean(ID);
}

static void
a_tombstone_stays_for_an_hour(void **state)
{
	auto_box struct box b = BOX_CLOSED;
	struct record r = { .state = RECORD_DESTROYED };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(box_make(&P, ID, &b, &e), 0);
	assert_int_equal(box_set_record(&b, &r, &e), 0);
	assert_int_equal(box_bury(&P, ID, &e), 0);
	assert_true(exists(ID));
	/* what is not a tombstone stays for ever */
	r.state = RECORD_ENDED;
	assert_int_equal(box_set_record(&b, &r, &e), 0);
	age(&b);
	assert_int_equal(box_bury(&P, ID, &e), 0);
	assert_true(exists(ID));
	clean(ID);
}

/* Of a file that is replaced, a crash may leave the next one behind. */
static void
what_a_crash_left_is_buried_too(void **state)
{
	auto_box struct box b = BOX_CLOSED;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(box_make(&P, ID, &b, &e), 0);
	assert_int_equal(file_note(b.dir, ".incarnation.abcdefgh", "{", &e), 0);
	clean(ID);
}

static void
processes_and_groups_are_read_as_they_were_written(void **state)
{
	auto_box struct box b = BOX_CLOSED;
	struct box_proc pr = { .boot_id = "boot",
		.bwrap = { 12, 34 },
		.init = { 56, 78 } },
			back;
	struct cgroup_tree t = { .ops = &CGROUP_V1,
		.count = 1,
		.at = { { 1, "/x" } } },
			   tree;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(box_make(&P, ID, &b, &e), 0);
	assert_int_equal(box_proc(&b, &back, &e), 0);
	assert_int_equal(back.init.pid, 0);
	assert_int_equal(box_set_proc(&b, &pr, &e), 0);
	assert_int_equal(box_proc(&b, &back, &e), 0);
	assert_memory_equal(&pr, &back, sizeof(pr));
	assert_int_equal(box_cgroups(&P, &b, &tree, &e), 0);
	assert_ptr_equal(tree.ops, &CGROUP_NONE);
	assert_int_equal(box_set_cgroups(&b, &t, &e), 0);
	assert_int_equal(box_cgroups(&P, &b, &tree, &e), 0);
	assert_ptr_equal(tree.ops, &CGROUP_V1);
	assert_string_equal(tree.at[0].dir, "/x");
	clean(ID);
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
	auto_box struct box b = BOX_CLOSED;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(box_make(&P, ID, &b, &e), 0);
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		auto_buf struct buf last = { 0 };

		assert_int_equal(file_write(b.dir, "proc", CASES[i].file, &e),
		    0);
		assert_int_equal(file_last_note(b.dir, "proc", 4096, &last, &e),
		    0);
		assert_string_equal(last.len > 0 ? last.data : "",
		    CASES[i].last);
	}
	clean(ID);
}

/* Some file systems lose the bytes of the last write and keep its length. */
static void
a_hole_after_a_power_failure_hides_no_later_note(void **state)
{
	static const char TEXT[] = "\n{a}\n\0\0\0";
	auto_box struct box b = BOX_CLOSED;
	auto_buf struct buf before = { 0 }, after = { 0 };
	auto_fd int fd = -1;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(box_make(&P, ID, &b, &e), 0);
	fd = openat(b.dir, "proc", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, TEXT, sizeof(TEXT)), sizeof(TEXT));
	assert_int_equal(file_last_note(b.dir, "proc", 4096, &before, &e), 0);
	assert_string_equal(before.data, "{a}");
	assert_int_equal(file_note(b.dir, "proc", "{b}", &e), 0);
	assert_int_equal(file_last_note(b.dir, "proc", 4096, &after, &e), 0);
	assert_string_equal(after.data, "{b}");
	clean(ID);
}

static void
notes_do_not_grow_without_end(void **state)
{
	auto_box struct box b = BOX_CLOSED;
	struct err e = { 0 };
	struct stat st;

	(void)state;
	assert_int_equal(box_make(&P, ID, &b, &e), 0);
	for (int i = 0; i < 1000; i++) {
		auto_free char *text = xasprintf("{a note of %d}", i);
		auto_buf struct buf last = { 0 };

		assert_int_equal(file_note(b.dir, "proc", text, &e), 0);
		assert_int_equal(
		    file_last_note(b.dir, "proc", 16384, &last, &e), 0);
		assert_string_equal(last.data, text);
	}
	assert_int_equal(fstatat(b.dir, "proc", &st, 0), 0);
	assert_true(st.st_size < 9000);
	clean(ID);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_become_names_that_are_safe_in_a_path),
		cmocka_unit_test(a_label_says_whose_it_is),
		cmocka_unit_test(only_the_last_whole_note_counts),
		cmocka_unit_test(
		    a_hole_after_a_power_failure_hides_no_later_note),
		cmocka_unit_test(notes_do_not_grow_without_end),
		cmocka_unit_test(one_operation_at_a_time),
		cmocka_unit_test(
		    a_held_lock_shows_until_its_last_holder_is_gone),
		cmocka_unit_test(a_log_is_set_aside_when_it_is_too_large),
		cmocka_unit_test(a_tombstone_stays_for_an_hour),
		cmocka_unit_test(what_a_crash_left_is_buried_too),
		cmocka_unit_test(
		    processes_and_groups_are_read_as_they_were_written),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
