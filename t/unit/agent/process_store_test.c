/* process_store_test.c: tests the records of a session's processes on disk. */
#include "t/unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/mem.h"

static char dir[64];

/* Includes the store itself, with a directory of the test. */
#define PROCESS_DIR dir
#include "agent/process/store.c"

static int
begin(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/process_store_test.%d/a/b",
	    (int)getpid());
	return 0;
}

static int
end(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		rmdir(dir);
		*strrchr(dir, '/') = '\0';
	}
	return 0;
}

static void
write_one(const char *id, const char *start, enum process_status status)
{
	char command[] = "echo 'it' \"s\"\n\xc3\xa9";
	struct process_record r = { .command = command,
		.pid = 7,
		.end = { .status = status, .exit_code = 3 } };

	str_copy(r.id, sizeof(r.id), id);
	str_copy(r.shell, sizeof(r.shell), "default");
	str_copy(r.start, sizeof(r.start), start);
	if (status != PROCESS_RUNNING)
		str_copy(r.end.at, sizeof(r.end.at),
		    "2026-01-02T00:00:00.000Z");
	process_store_write(&r);
}

/* Writes a file, as the tenant may. */
static void
put_file(const char *name, const char *text)
{
	auto_free char *path = xasprintf("%s/%s", dir, name);
	auto_fd int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void
drop_file(const char *name)
{
	auto_free char *path = xasprintf("%s/%s", dir, name);

	assert_int_equal(unlink(path), 0);
}

static bool
is_there(const char *name)
{
	auto_free char *path = xasprintf("%s/%s", dir, name);
	struct stat st;

	return lstat(path, &st) == 0;
}

static void
forget(struct process_record *all, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		process_store_remove(all[i].id);
		free(all[i].command);
	}
	free(all);
}

static void
records_are_found_again_in_their_order(void **state)
{
	struct process_record *all;
	size_t count;

	(void)state;
	write_one("new", "2026-01-01T00:00:02.000Z", PROCESS_RUNNING);
	write_one("old", "2026-01-01T00:00:01.000Z", PROCESS_FAILED);
	all = process_store_load(&count);
	assert_int_equal(count, 2);
	assert_string_equal(all[0].id, "old");
	assert_string_equal(all[0].command, "echo 'it' \"s\"\n\xc3\xa9");
	assert_int_equal(all[0].end.status, PROCESS_FAILED);
	assert_int_equal(all[0].end.exit_code, 3);
	assert_string_equal(all[0].end.at, "2026-01-02T00:00:00.000Z");
	/* no wrapper was there when this process ended */
	assert_string_equal(all[1].id, "new");
	assert_int_equal(all[1].end.status, PROCESS_KILLED);
	assert_int_equal(all[1].end.exit_code, 137);
	assert_string_equal(all[1].end.at, "");
	forget(all, count);
	assert_null(process_store_load(&count));
}

static void
what_makes_no_sense_is_removed(void **state)
{
	static const char *const BAD[] = { "", "{", "[]", "{}",
		"{\"id\":\"x\"}",
		"{\"id\":\"y\",\"shell\":\"s\",\"command\":\"c\",\"start\":"
		"\"2026-01-01T00:00:01.000Z\",\"end\":\"\",\"pid\":1,"
		"\"exitCode\":0,\"autoCleanup\":false,\"timedOut\":false,"
		"\"status\":\"completed\"}",
		"{\"id\":\"x\",\"shell\":\"s\",\"command\":\"c\",\"start\":"
		"\"<script>aaaaaaaaaaaa\",\"end\":\"\",\"pid\":1,"
		"\"exitCode\":0,\"autoCleanup\":false,\"timedOut\":false,"
		"\"status\":\"completed\"}",
		"{\"id\":\"x\",\"shell\":\"s\",\"command\":\"c\",\"start\":"
		"\"2026-01-01T00:00:01.000Z\",\"end\":\"\",\"pid\":1,"
		"\"exitCode\":1000,\"autoCleanup\":false,\"timedOut\":false,"
		"\"status\":\"completed\"}",
		"{\"id\":\"x\",\"shell\":\"s\",\"command\":\"c\",\"start\":"
		"\"2026-01-01T00:00:01.000Z\",\"end\":\"\",\"pid\":1,"
		"\"exitCode\":0,\"autoCleanup\":false,\"timedOut\":false,"
		"\"status\":\"merry\"}" };
	struct process_record *all;
	size_t count;

	(void)state;
	write_one("good", "2026-01-01T00:00:01.000Z", PROCESS_COMPLETED);
	for (size_t i = 0; i < ARRAY_LEN(BAD); i++) {
		put_file("x.json", BAD[i]);
		put_file("x.log", "whatever");
		put_file("alone.log", "whatever");
		put_file("notes", "the tenant's own");
		all = process_store_load(&count);
		assert_int_equal(count, 1);
		free(all[0].command);
		free(all);
		assert_false(is_there("x.json") || is_there("x.log") ||
		    is_there("alone.log"));
		assert_true(is_there("notes") && is_there("good.json"));
	}
	process_store_remove("good");
	assert_false(is_there("good.json"));
	process_store_remove("notes"); /* a tenant's file is not removed */
	assert_true(is_there("notes"));
	drop_file("notes");
}

static void
ids_cannot_be_paths(void **state)
{
	static const struct {
		const char *id;
		bool ok;
	} CASES[] = {
		{ "a", true },
		{ "proc_1_abc", true },
		{ "Web:1@x+y.z-_", true },
		{ "...", true },
		{ "", false },
		{ ".", false },
		{ "..", false },
		{ "a/b", false },
		{ "a b", false },
		{ "a\n", false },
		{ "\xc3\xa9", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
		assert_int_equal(process_store_is_id(CASES[i].id), CASES[i].ok);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_are_found_again_in_their_order),
		cmocka_unit_test(what_makes_no_sense_is_removed),
		cmocka_unit_test(ids_cannot_be_paths),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
