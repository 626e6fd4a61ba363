/* box_test.c: tests names, labels, locks, logs and tombstones of boxes. */
#include "../unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"
#include "provider/box/box.h"
#include "provider/host/file.h"

static const char ID[] = "ses-51256c9fcd04ef0144d0afcdfb9ffb2abc280ff2e0bae370";
static char BASE[] = "/tmp/slboxXXXXXX";
static struct conf CONF = { .cgroup_root = "none", .agent_log_kb = 1 };
static struct provider P = { .conf = &CONF, .installation = "a" };

/* Called just before this process gets its lock, as another one (--wrap). */
static void (*MEANWHILE)(void);

int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);

int
__wrap_flock(int fd, int operation)
{
	void (*now)(void) = MEANWHILE;

	MEANWHILE = NULL;
	if (now != NULL)
		now();
	return __real_flock(fd, operation);
}

/* How many other files were there when the record was removed (--wrap). */
static size_t LEFT_BEHIND;

int __real_unlinkat(int dir, const char *name, int flags);
int __wrap_unlinkat(int dir, const char *name, int flags);

int
__wrap_unlinkat(int dir, const char *name, int flags)
{
	auto_names char **names = NULL;
	struct err e = { 0 };

	if (str_equal(name, "incarnation")) {
		assert_int_equal(file_names(dir, ".", &names, &e), 0);
		for (LEFT_BEHIND = 0; names[LEFT_BEHIND] != NULL;)
			LEFT_BEHIND++;
		LEFT_BEHIND--;
	}
	return __real_unlinkat(dir, name, flags);
}

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

/* Buries the box of a test. */
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
	/* hashes from the contracts: raw ids never become paths */
	{ "org-id__user-id", "leg-aa6ba1f356e062c430f121b97b5fd9cfd64c51487e5f28c5" },
	{ "agent_abc123", "leg-51256c9fcd04ef0144d0afcdfb9ffb2abc280ff2e0bae370" },
	/* a name is its own name, since reconciliation knows only the name */
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

		/* wait: the lock is held until the end of this block */
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

/* A process that asks takes a shared lock, too, for a moment. */
static void
two_who_ask_do_not_see_each_other(void **state)
{
	auto_box struct box b = BOX_CLOSED;
	auto_fd int other = -1;
	struct err e = { 0 };
	bool held;

	(void)state;
	assert_int_equal(box_make(&P, ID, &b, &e), 0);
	other = openat(b.dir, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(flock(other, LOCK_SH | LOCK_NB), 0);
	assert_int_equal(box_held(&b, &held, &e), 0);
	assert_false(held);
	clean(ID);
}

static void
a_lock_that_cannot_be_asked_is_not_free(void **state)
{
	auto_box struct box b = BOX_CLOSED;
	struct err e = { 0 };
	bool held;

	(void)state;
	assert_int_equal(box_make(&P, ID, &b, &e), 0);
	assert_int_equal(symlinkat("label", b.dir, "lock"), 0);
	assert_int_equal(box_held(&b, &held, &e), -1);
	clean(ID);
}

static void
bury_it(void)
{
	clean(ID);
}

/* The lock file went with the box: the next process would lock another. */
static void
a_box_that_was_buried_meanwhile_is_made_again(void **state)
{
	auto_box struct box b = BOX_CLOSED, second = BOX_CLOSED;
	struct err e = { 0 };

	(void)state;
	MEANWHILE = bury_it;
	assert_int_equal(box_lock(&P, ID, clock_ms() + PATIENCE_MS, &b, &e), 0);
	assert_true(exists(ID));
	assert_int_equal(box_lock(&P, ID, clock_ms(), &second, &e), -1);
	assert_int_equal(e.kind, ERR_BUSY);
	box_close(&b);
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
	/* a record that is no tombstone stays for ever */
	r.state = RECORD_ENDED;
	assert_int_equal(box_set_record(&b, &r, &e), 0);
	age(&b);
	assert_int_equal(box_bury(&P, ID, &e), 0);
	assert_true(exists(ID));
	clean(ID);
}

static void
start_it_anew(void)
{
	auto_box struct box b = BOX_CLOSED;
	struct record r = { .state = RECORD_LIVE, .incarnation = "next" };
	struct err e = { 0 };

	assert_int_equal(box_open(&P, ID, &b, &e), 0);
	assert_int_equal(box_set_record(&b, &r, &e), 0);
	age(&b);
}

static void
what_starts_meanwhile_is_not_buried(void **state)
{
	auto_box struct box b = BOX_CLOSED;
	struct record r = { .state = RECORD_DESTROYED };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(box_make(&P, ID, &b, &e), 0);
	assert_int_equal(box_set_record(&b, &r, &e), 0);
	age(&b);
	MEANWHILE = start_it_anew;
	assert_int_equal(box_bury(&P, ID, &e), 0);
	assert_int_equal(box_record(&b, &r, &e), 0);
	assert_int_equal(r.state, RECORD_LIVE);
	clean(ID);
}

/* The next pass knows by the record that the rest is to be buried. */
static void
the_record_goes_last(void **state)
{
	auto_box struct box b = BOX_CLOSED;
	struct record r = { .state = RECORD_DESTROYED };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(box_make(&P, ID, &b, &e), 0);
	assert_int_equal(mkdirat(b.dir, "stays", 0700), 0);
	assert_int_equal(box_set_record(&b, &r, &e), 0);
	age(&b);
	assert_int_equal(box_bury(&P, ID, &e), -1);
	assert_int_equal(faccessat(b.dir, "incarnation", F_OK, 0), 0);
	assert_int_equal(unlinkat(b.dir, "stays", AT_REMOVEDIR), 0);
	LEFT_BEHIND = SIZE_MAX;
	assert_int_equal(box_bury(&P, ID, &e), 0);
	assert_int_equal(LEFT_BEHIND, 0);
}

/* A crash before an atomic rename may leave the temporary file behind. */
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

static int
read_record(const struct box *b, struct err *e)
{
	struct record r;

	return box_record(b, &r, e);
}

static int
read_proc(const struct box *b, struct err *e)
{
	struct box_proc pr;

	return box_proc(b, &pr, e);
}

static int
read_cgroups(const struct box *b, struct err *e)
{
	struct cgroup_tree t;

	return box_cgroups(&P, b, &t, e);
}

static int
read_label(const struct box *b, struct err *e)
{
	char id[SANDBOX_ID_MAX];
	bool ours;

	return box_label(&P, b, &ours, id, e);
}

/* "No note" would mean that nothing runs and that any worker may start it. */
static void
a_note_that_cannot_be_understood_is_an_error(void **state)
{
	static const struct {
		const char *file;
		int (*read)(const struct box *b, struct err *e);
	} NOTES[] = { { "incarnation", read_record }, { "proc", read_proc },
		{ "cgroup", read_cgroups }, { "label", read_label } };
	static const char *const TEXTS[] = { "{", "{}", "\n[1]\n",
		"\n{\"state\": \"new\", \"kind\": \"v3\"}\n" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(NOTES); i++) {
		auto_box struct box b = BOX_CLOSED;
		struct err e = { 0 };

		assert_int_equal(box_make(&P, ID, &b, &e), 0);
		for (size_t k = 0; k < ARRAY_LEN(TEXTS); k++) {
			assert_int_equal(
			    file_write(b.dir, NOTES[i].file, TEXTS[k], &e), 0);
			if (NOTES[i].read(&b, &e) == 0)
				fail_msg("%s: %s was taken", NOTES[i].file,
				    TEXTS[k]);
		}
		assert_int_equal(unlinkat(b.dir, NOTES[i].file, 0), 0);
		assert_int_equal(NOTES[i].read(&b, &e), 0);
	}
	clean(ID);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_become_names_that_are_safe_in_a_path),
		cmocka_unit_test(a_label_says_whose_it_is),
		cmocka_unit_test(a_note_that_cannot_be_understood_is_an_error),
		cmocka_unit_test(one_operation_at_a_time),
		cmocka_unit_test(
		    a_held_lock_shows_until_its_last_holder_is_gone),
		cmocka_unit_test(two_who_ask_do_not_see_each_other),
		cmocka_unit_test(a_lock_that_cannot_be_asked_is_not_free),
		cmocka_unit_test(a_box_that_was_buried_meanwhile_is_made_again),
		cmocka_unit_test(a_log_is_set_aside_when_it_is_too_large),
		cmocka_unit_test(a_tombstone_stays_for_an_hour),
		cmocka_unit_test(what_starts_meanwhile_is_not_buried),
		cmocka_unit_test(the_record_goes_last),
		cmocka_unit_test(what_a_crash_left_is_buried_too),
		cmocka_unit_test(
		    processes_and_groups_are_read_as_they_were_written),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
