/* cgroup_usage_test.c: tests which numbers are read from a cell's groups. */
#include "../unit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/str.h"
#include "provider/cgroup/cgroup.h"

static char BASE[] = "/tmp/slusageXXXXXX";

static const char *const DIRS[] = { "", "/box", "/box/ses-1", "/box/ses-1/s-a",
	"/box/ses-1/s-a/x-1" };

struct file {
	const char *name, *text; /* name NULL: the last */
};

/* The files of the cell that both kinds have. */
static const struct file V1_FILES[] = {
	{ "memory.usage_in_bytes", "9000000\n" },
	{ "memory.stat",
	    "cache 5\ninactive_file 7\ntotal_cache 6\ntotal_inactive_file 1000000\n" },
	{ "memory.max_usage_in_bytes", "12000000\n" },
	{ "pids.current", "7\n" },
	{ NULL },
};
static const struct file V1_TIME[] = {
	{ "cpuacct.usage_user", "3000000\n" },
	{ "cpuacct.usage_sys", "2000999\n" },
	{ NULL },
};
static const struct file V2_FILES[] = {
	{ "memory.current", "9000000\n" },
	{ "memory.stat",
	    "anon 8\ninactive_file_more 1\ninactive_file 1000000" },
	{ "memory.peak", "12000000\n" },
	{ "pids.current", "7\n" },
	{ "cpu.stat",
	    "usage_usec 5000\nuser_usec 3000\nsystem_usec 2000\nnr_periods 0\n" },
	{ NULL },
};
static const struct file BROKEN_FILES[] = {
	{ "memory.current", "" },
	{ "memory.stat", "inactive_file\n" },
	{ "memory.peak", "max\n" },
	{ "pids.current", "-1\n" },
	{ "cpu.stat", "user_usec x\n" },
	{ NULL },
};
/* Counted at different moments, the part may be more than the whole. */
static const struct file SHRUNK_FILES[] = {
	{ "memory.current", "1000\n" },
	{ "memory.stat", "inactive_file 2000\n" },
	{ NULL },
};

static void
put(const char *name, const char *text)
{
	auto_free char *path = xasprintf("%s/box/ses-1/s-a/%s", BASE, name);
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void
put_all(const struct file *f)
{
	for (; f->name != NULL; f++)
		put(f->name, f->text);
}

static void
drop_all(const struct file *f)
{
	for (; f->name != NULL; f++) {
		auto_free char *path =
		    xasprintf("%s/box/ses-1/s-a/%s", BASE, f->name);

		unlink(path);
	}
}

static int
set_up(void **state)
{
	(void)state;
	if (mkdtemp(BASE) == NULL)
		return -1;
	for (size_t i = 1; i < ARRAY_LEN(DIRS); i++) {
		auto_free char *path = xasprintf("%s%s", BASE, DIRS[i]);

		if (mkdir(path, 0755) < 0)
			return -1;
	}
	return 0;
}

static int
tear_down(void **state)
{
	static const char *const PROCS[] = { "cgroup.procs",
		"x-1/cgroup.procs" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(PROCS); i++) {
		auto_free char *path =
		    xasprintf("%s/box/ses-1/s-a/%s", BASE, PROCS[i]);

		unlink(path);
	}
	for (size_t i = ARRAY_LEN(DIRS); i-- > 0;) {
		auto_free char *path = xasprintf("%s%s", BASE, DIRS[i]);

		rmdir(path);
	}
	return access(BASE, F_OK) == 0 ? -1 : 0;
}

static struct cgroup_tree
tree(const struct cgroup_ops *ops, unsigned controllers)
{
	struct cgroup_tree t = { .ops = ops, .count = 1 };

	t.at[0].controllers = controllers;
	str_copy(t.at[0].dir, sizeof(t.at[0].dir), BASE);
	return t;
}

/* This process is in the cell, and one that does not exist in a run of it. */
static void
put_self(void)
{
	char text[32];

	snprintf(text, sizeof(text), "%d\n", (int)getpid());
	put("cgroup.procs", text);
	put("x-1/cgroup.procs", "2000000000\n");
}

static struct usage
usage_of(const struct cgroup_ops *ops, unsigned controllers,
    const struct file *files)
{
	struct cgroup_tree t = tree(ops, controllers);
	struct usage u;
	struct err e = { 0 };

	put_self();
	put_all(files);
	if (cgroup_usage(&t, "ses-1", "a", &u, &e) < 0)
		fail_msg("%s", e.msg);
	drop_all(files);
	return u;
}

enum {
	ALL = 1U << CGROUP_MEMORY | 1U << CGROUP_PIDS | 1U << CGROUP_CPU |
	    1U << CGROUP_FREEZER
};

static void
assert_counted(const struct usage *u)
{
	assert_true(u->running);
	assert_int_equal(u->processes, 1);
	assert_int_equal(u->threads, 7);
	assert_int_equal(u->memory_bytes, 8000000);
	assert_int_equal(u->memory_peak_bytes, 12000000);
}

static void
v2_tells_all(void **state)
{
	struct usage u = usage_of(&CGROUP_V2, ALL, V2_FILES);

	(void)state;
	assert_counted(&u);
	assert_int_equal(u.cpu_us, 5000);
	assert_int_equal(u.cpu_user_us, 3000);
	assert_int_equal(u.cpu_sys_us, 2000);
}

static void
v1_tells_all_where_cpuacct_is_there(void **state)
{
	struct usage u;

	(void)state;
	put_all(V1_TIME);
	u = usage_of(&CGROUP_V1, ALL, V1_FILES);
	drop_all(V1_TIME);
	assert_counted(&u);
	assert_int_equal(u.cpu_user_us, 3000);
	assert_int_equal(u.cpu_sys_us, 2000);
	assert_int_equal(u.cpu_us, 5000);
}

/* Uses processor time until the kernel has counted some ticks of it. */
static void
burn(void)
{
	enum { ENOUGH_US = 50 * 1000 };
	struct rusage r = { 0 };

	while (r.ru_utime.tv_sec == 0 && r.ru_utime.tv_usec < ENOUGH_US)
		assert_int_equal(getrusage(RUSAGE_SELF, &r), 0);
}

static void
without_a_meter_the_processes_tell_their_time(void **state)
{
	struct usage u;

	(void)state;
	burn();
	u = usage_of(&CGROUP_V1, ALL, V1_FILES);
	assert_counted(&u);
	assert_true(u.cpu_user_us > 0);
	assert_int_equal(u.cpu_us, u.cpu_user_us + u.cpu_sys_us);
}

static void
a_controller_that_is_not_delegated_tells_nothing(void **state)
{
	struct usage u = usage_of(&CGROUP_V2, 1U << CGROUP_FREEZER, V2_FILES);

	(void)state;
	assert_int_equal(u.memory_bytes, -1);
	assert_int_equal(u.memory_peak_bytes, -1);
	assert_int_equal(u.threads, 1); /* of this process */
	assert_int_equal(u.cpu_us, 5000);
}

static void
files_that_cannot_be_understood_are_unknown(void **state)
{
	struct usage u = usage_of(&CGROUP_V2, ALL, BROKEN_FILES);

	(void)state;
	assert_int_equal(u.memory_bytes, -1);
	assert_int_equal(u.memory_peak_bytes, -1);
	assert_int_equal(u.threads, 1);
	assert_int_equal(u.processes, 1);
	u = usage_of(&CGROUP_V2, ALL, SHRUNK_FILES);
	assert_int_equal(u.memory_bytes, 0);
}

static void
a_cell_without_processes_has_no_numbers(void **state)
{
	struct cgroup_tree t = tree(&CGROUP_V2, ALL);
	struct usage u;
	struct err e = { 0 };

	(void)state;
	put("cgroup.procs", "");
	put_all(V2_FILES);
	assert_int_equal(cgroup_usage(&t, "ses-1", "a", &u, &e), 0);
	drop_all(V2_FILES);
	assert_false(u.running);
	assert_int_equal(u.memory_bytes, -1);
	assert_int_equal(u.cpu_us, -1);
	assert_int_equal(cgroup_usage(&t, "ses-1", "b", &u, &e), 0);
	assert_false(u.running);
	t.count = 0;
	assert_int_equal(cgroup_usage(&t, "ses-1", "a", &u, &e), 0);
	assert_false(u.running);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(v2_tells_all),
		cmocka_unit_test(v1_tells_all_where_cpuacct_is_there),
		cmocka_unit_test(without_a_meter_the_processes_tell_their_time),
		cmocka_unit_test(
		    a_controller_that_is_not_delegated_tells_nothing),
		cmocka_unit_test(files_that_cannot_be_understood_are_unknown),
		cmocka_unit_test(a_cell_without_processes_has_no_numbers),
	};

	return cmocka_run_group_tests_name("cgroup_usage", tests, set_up,
	    tear_down);
}
