/* storage_test.c: tests that a session's files are found, lost, or unknown. */
#include "../tree.h"

#include <string.h>
#include <sys/file.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"
#include "provider/host/file.h"
#include "provider/store/copy.h"
#include "provider/store/job.h"
#include "provider/store/snapshot.h"
#include "provider/store/storage.h"

enum { NOBODY = 64123 };

static const char BOX[] =
    "ses-51256c9fcd04ef0144d0afcdfb9ffb2abc280ff2e0bae370";
static const char SESSION[] = "aaaaaaaaaaaaaaaaaaaa";
static const struct snapshot_ref SNAPSHOT = { .owner = "0123",
	.id = "bbbbbbbbbbbbbbbbbbbb" };

static int64_t ROOM; /* bytes */

static int
measure(const struct provider *p, const char *id, struct capacity *out,
    struct err *e)
{
	(void)p, (void)id, (void)e;
	*out = (struct capacity){ .room_bytes = ROOM };
	return 0;
}

static const struct provider_ops OPS = { .capacity = measure };
static struct conf CONF = { .cgroup_root = "none",
	.bwrap_path = "/bin/false",
	.snapshot_spares = 1 };
static struct provider P = { .conf = &CONF, .ops = &OPS };

static int
begin(void **state)
{
	if (enter(state) < 0)
		return -1;
	snprintf(CONF.state_dir, sizeof(CONF.state_dir), "%s", dir);
	return mkdir("storage", 0700) < 0 || mkdir("jobs", 0700) < 0 ? -1 : 0;
}

static bool
exists(void)
{
	struct err e = { 0 };
	bool there;

	if (storage_exists(&P, BOX, SESSION, &there, &e) < 0)
		fail_msg("%s", e.msg);
	return there;
}

static void
make(void)
{
	struct err e = { 0 };

	assert_int_equal(storage_make(&P, BOX, SESSION, &e), 0);
	assert_true(exists());
}

/* Writes a file, and makes the directories above it. */
static void
write_file(const char *path, const char *text)
{
	auto_free char *copy = xstrdup(path);
	FILE *f;

	for (char *s = copy; (s = strchr(s + 1, '/')) != NULL; *s = '/') {
		*s = '\0';
		(void)mkdir(copy, 0700);
	}
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static char *
in_session(const char *name)
{
	return xasprintf("storage/%s/%s/%s", BOX, SESSION, name);
}

/* A disk that is not mounted has not lost its files. */
static void
without_storage_nobody_can_tell(void **state)
{
	auto_free char *box = xasprintf("storage/%s", BOX);
	struct err e = { 0 };
	bool there;

	(void)state;
	assert_false(exists());
	make();
	assert_int_equal(rename("storage", "away"), 0);
	assert_int_equal(storage_exists(&P, BOX, SESSION, &there, &e), -1);
	assert_code(e.code, CODE_NO_STORAGE);
	assert_int_equal(rename("away", "storage"), 0);
	assert_int_equal(chmod("storage", 0), 0);
	assert_int_equal(storage_exists(&P, BOX, SESSION, &there, &e), -1);
	assert_int_equal(chmod("storage", 0700), 0);
	assert_int_equal(chmod(box, 0), 0);
	assert_int_equal(storage_exists(&P, BOX, SESSION, &there, &e), -1);
	assert_int_equal(chmod(box, 0700), 0);
	assert_true(exists());
}

/* A storage gets its id once; one with another id, or none, is not ours. */
static void
another_storage_is_told_from_ours(void **state)
{
	static const char *const BAD[] = { "", "\n", "../x\n", "A\n" };
	char id[STORAGE_ID_MAX];
	struct err e = { 0 };
	bool empty, there;

	(void)state;
	assert_int_equal(storage_id(&P, id, &empty, &e), 0);
	assert_string_equal(id, "");
	assert_true(empty);
	assert_int_equal(storage_mark(&P, "first", &e), 0);
	assert_int_equal(storage_mark(&P, "second", &e), 0);
	make();
	assert_int_equal(storage_id(&P, id, &empty, &e), 0);
	assert_string_equal(id, "first");
	assert_false(empty);
	snprintf(P.storage_id, sizeof(P.storage_id), "second");
	assert_int_equal(storage_exists(&P, BOX, SESSION, &there, &e), -1);
	assert_code(e.code, CODE_STORAGE_MISMATCH);
	assert_int_equal(storage_make(&P, BOX, SESSION, &e), -1);
	snprintf(P.storage_id, sizeof(P.storage_id), "first");
	assert_true(exists());
	assert_int_equal(unlink("storage/.id"), 0);
	assert_int_equal(storage_check(&P, &e), -1);
	P.storage_id[0] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(BAD); i++) {
		write_file("storage/.id", BAD[i]);
		assert_int_equal(storage_id(&P, id, &empty, &e), -1);
	}
}

static void
half_of_it_is_not_there(void **state)
{
	static const char *const PARTS[] = { "workspace", "home" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(PARTS); i++) {
		auto_free char *part = in_session(PARTS[i]);

		make();
		assert_int_equal(rmdir(part), 0);
		assert_false(exists());
		/* nor is a symbolic link in its place */
		assert_int_equal(symlink("/", part), 0);
		assert_false(exists());
		assert_int_equal(unlink(part), 0);
	}
}

static void
only_a_session_s_own_files_are_dropped(void **state)
{
	static const char *const NAMES[] = { "", ".", "..", "../../storage",
		"aaaaaaaaaaaaaaaaaaa/" };
	auto_free char *copy = xasprintf("storage/%s/%s%s/workspace/file", BOX,
	    STORAGE_COPY, SESSION);
	struct err e = { 0 };

	(void)state;
	make();
	write_file(copy, "");
	for (size_t i = 0; i < ARRAY_LEN(NAMES); i++) {
		assert_int_equal(storage_drop(&P, BOX, NAMES[i], &e), -1);
		assert_code(e.code, CODE_BAD_SESSION_ID);
	}
	assert_true(exists());
	assert_int_equal(storage_drop(&P, BOX, SESSION, &e), 0);
	assert_false(exists());
	/* the copy that was made for the session goes, too */
	assert_int_equal(access(copy, F_OK), -1);
	assert_int_equal(storage_drop(&P, BOX, SESSION, &e), 0);
}

/* The report that a job wrote at its end; a job that lives holds its lock. */
static void
a_report_is_believed_when_it_makes_sense(void **state)
{
	static const struct {
		const char *text;
		enum job_state is;
	} REPORTS[] = {
		{ "{\"entries\": 3, \"bytes\": 9}", JOB_DONE },
		{ "{\"entries\": -3, \"bytes\": 9}", JOB_FAILED },
		{ "{\"entries\": 3, \"bytes\": -9}", JOB_FAILED },
		{ "{\"entries\": 3, \"bytes\": 9, \"errno\": 0}", JOB_FAILED },
		{ "{\"entries\": 3", JOB_FAILED },
		{ "", JOB_FAILED },
	};
	struct job_seen seen;
	struct err e = { 0 };
	int ended;

	(void)state;
	assert_int_equal(job_look("work", &seen, &e), 0);
	assert_int_equal(seen.state, JOB_NONE);
	for (size_t i = 0; i < ARRAY_LEN(REPORTS); i++) {
		write_file("work/report", REPORTS[i].text);
		assert_int_equal(job_look("work", &seen, &e), 0);
		if (seen.state != REPORTS[i].is)
			fail_msg("%s: %d", REPORTS[i].text, (int)seen.state);
		/* and a job that is over is not begun again */
		assert_int_equal(job_begin(&P, "work",
				     &(struct job){ .owner = "0123",
					 .words = { "clone" },
					 .to = ".",
					 .in = -1 },
				     clock_ms(), &ended, &e),
		    -1);
		assert_code(e.code, CODE_JOB_RUNS);
	}
}

static void
what_is_being_written_is_left_alone(void **state)
{
	auto_free char *copy =
	    xasprintf("storage/%s/%s%s/report", BOX, STORAGE_COPY, SESSION);
	auto_free char *taking =
	    xasprintf("snapshots/%s/%s/report", SNAPSHOT.owner, SNAPSHOT.id);
	auto_fd int one = -1, two = -1;
	struct err e = { 0 };

	(void)state;
	write_file(copy, "");
	write_file(taking, "");
	one = open(copy, O_RDWR | O_CLOEXEC);
	two = open(taking, O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(one, LOCK_EX), 0);
	assert_int_equal(flock(two, LOCK_EX), 0);
	assert_int_equal(
	    storage_from(&P, BOX, SESSION, &SNAPSHOT, clock_ms(), &e), -1);
	assert_code(e.code, CODE_COPYING);
	assert_false(exists());
	assert_int_equal(access(copy, F_OK), 0);
	assert_int_equal(snapshot_drop(&P, &SNAPSHOT, &e), -1);
	assert_code(e.code, CODE_JOB_RUNS);
	assert_int_equal(access(taking, F_OK), 0);
	assert_int_equal(flock(two, LOCK_UN), 0);
	assert_int_equal(snapshot_drop(&P, &SNAPSHOT, &e), 0);
	assert_int_equal(access(taking, F_OK), -1);
}

static void
only_names_of_snapshots_are_dropped(void **state)
{
	static const struct snapshot_ref BAD[] = {
		{ .owner = "0123", .id = "../../storage" },
		{ .owner = "..", .id = "bbbbbbbbbbbbbbbbbbbb" },
		{ .owner = "", .id = "bbbbbbbbbbbbbbbbbbbb" },
	};

	(void)state;
	make();
	for (size_t i = 0; i < ARRAY_LEN(BAD); i++) {
		struct err e = { 0 };

		assert_int_equal(snapshot_drop(&P, &BAD[i], &e), -1);
		assert_code(e.code, CODE_BAD_SNAPSHOT_ID);
	}
	assert_true(exists());
}

/* Copies made in advance are removed first, and there are never too many. */
static void
spares_are_for_disks_with_room(void **state)
{
	auto_free char *spare =
	    xasprintf("snapshots/%s/%s/spare", SNAPSHOT.owner, SNAPSHOT.id);
	auto_free char *file = xasprintf("%s/workspace/file", spare);
	auto_free char *report =
	    xasprintf("snapshots/%s/%s/report", SNAPSHOT.owner, SNAPSHOT.id);
	auto_free char *kept = xasprintf("snapshots/%s/%s/files/file",
	    SNAPSHOT.owner, SNAPSHOT.id);
	struct err e = { 0 };

	(void)state;
	write_file(kept, "");
	write_file(report, "{\"entries\": 1, \"bytes\": 1000}");
	ROOM = 1000;
	snapshot_make_spare(&P, &SNAPSHOT);
	assert_int_equal(access(spare, F_OK), -1);
	write_file(file, "");
	assert_int_equal(snapshot_spares_sweep(&P, &e), 0);
	assert_int_equal(access(spare, F_OK), 0);
	ROOM = 0;
	assert_int_equal(snapshot_spares_sweep(&P, &e), 0);
	assert_int_equal(access(spare, F_OK), -1);
	assert_int_equal(access(report, F_OK), 0);
}

#define test(f) cmocka_unit_test_setup_teardown(f, begin, leave)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		test(without_storage_nobody_can_tell),
		test(another_storage_is_told_from_ours),
		test(half_of_it_is_not_there),
		test(only_a_session_s_own_files_are_dropped),
		test(a_report_is_believed_when_it_makes_sense),
		test(what_is_being_written_is_left_alone),
		test(only_names_of_snapshots_are_dropped),
		test(spares_are_for_disks_with_room),
	};

	/* modes do not stop root, so the test is not root */
	if (geteuid() == 0 && (setgid(NOBODY) < 0 || setuid(NOBODY) < 0))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
