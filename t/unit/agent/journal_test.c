/* journal_test.c: tests the records of attempts on the disk. */
#include "t/unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/mem.h"

static char place[64];

/* Includes the journal itself, with a directory of the test. */
#define JOURNAL_DIR place
#include "agent/attempt/journal.c"

static int
begin(void **state)
{
	(void)state;
	snprintf(place, sizeof(place), "/tmp/journal_test.%d/a", (int)getpid());
	return 0;
}

static int
end(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		rmdir(place);
		*strrchr(place, '/') = '\0';
	}
	return 0;
}

static struct attempt_record
a_record(const char *id, enum attempt_state state, enum attempt_reason why)
{
	struct attempt_record r = { .state = state,
		.reason = why,
		.exit_code = 137,
		.signal = 9,
		.began = 1767312000000,
		.ended = 1767312001000,
		.message = "m",
		.tail = "e\xc3\xa9\xff\n",
		.usage = { 1, 2, 3, 4, 5, -6 } };

	str_copy(r.id, sizeof(r.id), id);
	return r;
}

static void
ids_are_names_of_files(void **state)
{
	static const char *const GOOD[] = { "a.1", "abc0.123456" };
	static const char *const BAD[] = { "", ".", "a", "a.", ".1", "a.x",
		"a.1.json", "../a.1", "A.1", "a/b.1", "a.1234567",
		"abcdefghijklmnopqrstuvwxyz0123456789abcdef.1" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(GOOD); i++)
		assert_true(journal_is_id(GOOD[i]));
	for (size_t i = 0; i < ARRAY_LEN(BAD); i++)
		assert_false(journal_is_id(BAD[i]));
}

static void
a_record_is_read_as_it_was_written(void **state)
{
	struct attempt_record w = a_record("a.1", ATTEMPT_ENDED, REASON_MEMORY);
	struct attempt_record r;

	(void)state;
	journal_write(&w);
	assert_true(journal_read("a.1", &r));
	assert_int_equal(r.state, ATTEMPT_ENDED);
	assert_int_equal(r.reason, REASON_MEMORY);
	assert_int_equal(r.exit_code, 137);
	assert_int_equal(r.signal, 9);
	assert_int_equal(r.began, w.began);
	assert_int_equal(r.ended, w.ended);
	assert_string_equal(r.message, "m");
	assert_string_equal(r.tail, "e\xc3\xa9\xef\xbf\xbd\n");
	assert_memory_equal(&r.usage, &w.usage, sizeof(r.usage));
	journal_remove("a.1");
	assert_false(journal_read("a.1", &r));
}

static void
an_attempt_that_ran_is_lost(void **state)
{
	static const enum attempt_state STATES[] = { ATTEMPT_QUEUED,
		ATTEMPT_RUNNING };
	struct attempt_record r;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(STATES); i++) {
		struct attempt_record w =
		    a_record("a.1", STATES[i], REASON_NONE);

		journal_write(&w);
		assert_true(journal_read("a.1", &r));
		assert_int_equal(r.state, ATTEMPT_ENDED);
		assert_int_equal(r.reason, REASON_LOST);
	}
	journal_remove("a.1");
}

/* The tenant can write there, too. */
static void
nonsense_is_no_record(void **state)
{
	static const char *const NONSENSE[] = { "", "{", "[]", "{}", "null",
		"{\"id\": \"a.1\"}",
		"{\"id\": \"b.1\", \"state\": \"ended\", \"reason\": \"failed\","
		" \"exitCode\": 1, \"signal\": 0, \"began\": \"\","
		" \"ended\": \"\", \"message\": \"\", \"stderrTail\": \"\"}",
		"{\"id\": \"a.1\", \"state\": \"ended\", \"reason\": \"nope\","
		" \"exitCode\": 1, \"signal\": 0, \"began\": \"\","
		" \"ended\": \"\", \"message\": \"\", \"stderrTail\": \"\"}",
		"{\"id\": \"a.1\", \"state\": \"ended\", \"reason\": \"failed\","
		" \"exitCode\": 256, \"signal\": 0, \"began\": \"\","
		" \"ended\": \"\", \"message\": \"\", \"stderrTail\": \"\"}" };
	auto_free char *path = xasprintf("%s/a.1.json", place);
	struct attempt_record r;

	(void)state;
	record_dir(place);
	for (size_t i = 0; i < ARRAY_LEN(NONSENSE); i++) {
		int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

		assert_int_equal(write(fd, NONSENSE[i], strlen(NONSENSE[i])),
		    strlen(NONSENSE[i]));
		close(fd);
		assert_false(journal_read("a.1", &r));
	}
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_false(journal_read("a.1", &r));
	journal_remove("a.1");
}

static void
the_newest_are_kept(void **state)
{
	struct attempt_record r;
	char id[ATTEMPT_ID_MAX];

	(void)state;
	for (int i = 0; i < 6; i++) {
		auto_free char *path = NULL;

		snprintf(id, sizeof(id), "a%d.1", i);
		r = a_record(id, ATTEMPT_ENDED, REASON_FAILED);
		journal_write(&r);
		path = xasprintf("%s/%s.json", place, id);
		utimensat(AT_FDCWD, path,
		    (struct timespec[2]){ { 1000 + i, 0 }, { 1000 + i, 0 } },
		    0);
	}
	/* the host has not taken the output of the oldest two */
	for (int i = 0; i < 2; i++) {
		char path[JOURNAL_PATH_MAX];

		snprintf(id, sizeof(id), "a%d.1", i);
		journal_log(id, path);
		close(open(path, O_WRONLY | O_CREAT, 0600));
	}
	journal_trim(2, 1);
	for (int i = 0; i < 6; i++) {
		snprintf(id, sizeof(id), "a%d.1", i);
		assert_int_equal(journal_read(id, &r), i == 1 || i >= 4);
		journal_remove(id);
	}
}

static void
assert_times(const char *id, const struct journal_entry *want, size_t count)
{
	struct journal_entry got[8];
	int fd = journal_open(id, "times");

	assert_true(fd >= 0);
	assert_int_equal(read(fd, got, sizeof(got)), count * sizeof(want[0]));
	close(fd);
	assert_memory_equal(got, want, count * sizeof(want[0]));
}

static void
times_are_kept_in_steps(void **state)
{
	static const struct journal_entry WANT[] = { { 0, 2 * 30 },
		{ 5, 2 * 7 + 1 }, { 25, 2 * 1 } };
	struct journal_times t;

	(void)state;
	journal_times_create(&t, "a.1");
	journal_times_add(&t, RING_STDOUT, 10, 0);
	journal_times_add(&t, RING_STDOUT, 20, 4);
	journal_times_add(&t, RING_STDERR, 7, 5);
	journal_times_add(&t, RING_STDOUT, 1, 25);
	assert_times("a.1", WANT, ARRAY_LEN(WANT));
	/* after many entries the steps are longer */
	t.count = JOURNAL_STEP_ENTRIES;
	t.last = (struct journal_entry){ 100, 2 };
	journal_times_add(&t, RING_STDOUT, 1, 100 + JOURNAL_STEP_MS + 1);
	assert_int_equal(t.count, JOURNAL_STEP_ENTRIES);
	journal_times_close(&t);
	journal_times_add(&t, RING_STDOUT, 1, 1000);
	journal_remove("a.1");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_are_names_of_files),
		cmocka_unit_test(a_record_is_read_as_it_was_written),
		cmocka_unit_test(an_attempt_that_ran_is_lost),
		cmocka_unit_test(nonsense_is_no_record),
		cmocka_unit_test(the_newest_are_kept),
		cmocka_unit_test(times_are_kept_in_steps),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
