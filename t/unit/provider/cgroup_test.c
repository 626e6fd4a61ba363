/* cgroup_test.c: tests which groups are found, and what is written there. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/mem.h"
#include "common/str.h"
#include "provider/cgroup/cgroup.h"
#include "provider/host/file.h"

enum { TEXT_MAX = 4096 };

static char BASE[] = "/tmp/slcgroupXXXXXX";

/* A tree of plain files that stands for the kernel's. */
static const char *const DIRS[] = { "memory", "memory/sl", "memory/sl/box",
	"memory/sl/box/ses-1", "memory/sl/box/ses-1/init",
	"memory/sl/box/ses-1/s-a", "memory/unit", "memory/unit/api", "pids",
	"pids/sl", "unified", "unified/sl", "unified/unit", "unified/unit/api",
	"unified/bare", "cpu", "cpu/sl", "cpu/sl/box", "cpu/sl/box/ses-1",
	"cpu/sl/box/ses-1/s-a" };
static const char *const FILES[] = {
	"memory/sl/box/ses-1/memory.limit_in_bytes",
	"memory/sl/box/ses-1/cgroup.procs",
	"memory/sl/box/ses-1/init/cgroup.procs",
	"memory/sl/box/ses-1/s-a/memory.limit_in_bytes",
	"memory/sl/box/ses-1/s-a/cgroup.procs", "memory/sl/box/ses-1/s-a/tasks",
	"memory/sl/box/cgroup.clone_children", "unified/sl/cgroup.controllers",
	"unified/unit/cgroup.controllers",
	"memory/sl/box/ses-1/memory.kmem.tcp.limit_in_bytes",
	"memory/sl/box/ses-1/s-a/memory.kmem.tcp.limit_in_bytes",
	"memory/sl/box/memory.limit_in_bytes", "cpu/sl/box/ses-1/s-a/tasks"
};

static char *
at(const char *name)
{
	return xasprintf("%s/%s", BASE, name);
}

static void
put(const char *name, const char *text)
{
	auto_free char *path = at(name);
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int
set_up(void **state)
{
	(void)state;
	if (mkdtemp(BASE) == NULL)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(DIRS); i++) {
		auto_free char *path = at(DIRS[i]);

		if (mkdir(path, 0755) < 0)
			return -1;
	}
	for (size_t i = 0; i < ARRAY_LEN(FILES); i++)
		put(FILES[i], "");
	put("unified/sl/cgroup.controllers", "cpuset cpu memory pids\n");
	put("unified/unit/cgroup.controllers", "memory\n");
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	for (size_t i = ARRAY_LEN(FILES); i-- > 0;) {
		auto_free char *path = at(FILES[i]);

		unlink(path);
	}
	for (size_t i = ARRAY_LEN(DIRS); i-- > 0;) {
		auto_free char *path = at(DIRS[i]);

		rmdir(path);
	}
	return rmdir(BASE);
}

/* A mountinfo with the hierarchies of those kinds, among others. */
static char *
mounts(const char *kinds)
{
	struct buf b = { 0 };

	buf_str(&b,
	    "22 27 0:20 / /proc rw - proc proc rw\n"
	    "23 27 0:21 / /odd rw shared:2 - cgroup cgroup rw,devices\n");
	if (strchr(kinds, 'p') != NULL)
		buf_fmt(&b,
		    "31 25 0:27 / %s/pids rw,nosuid shared:9 master:1 - cgroup cgroup rw,pids\n",
		    BASE);
	if (strchr(kinds, 'm') != NULL)
		buf_fmt(&b,
		    "30 25 0:26 / %s/memory rw - cgroup cgroup rw,memory\n",
		    BASE);
	if (strchr(kinds, 'c') != NULL)
		buf_fmt(&b, "34 25 0:29 / %s/cpu rw - cgroup cgroup rw,cpu\n",
		    BASE);
	if (strchr(kinds, 'u') != NULL)
		buf_fmt(&b, "32 25 0:28 / %s/unified rw - cgroup2 none rw\n",
		    BASE);
	if (strchr(kinds, 'n') != NULL)
		buf_fmt(&b,
		    "32 25 0:28 /docker/x %s/unified rw - cgroup2 none rw\n",
		    BASE);
	return b.data;
}

struct find_case {
	const char *what;
	const char *setting;
	const char *kinds;
	const char *groups;
	const char *want; /* kind, and the directories below BASE */
};

/* clang-format off */
static const struct find_case FIND[] = {
	{ "none asks for none", "none", "mpu", "", "none" },
	{ "v1 in all its trees, memory first", "sl", "pmu", "", "v1 memory/sl pids/sl" },
	{ "v1 where only one tree is delegated", "unit", "pm", "", "v1 memory/unit" },
	{ "v2 where v1 is not", "sl", "u", "", "v2 unified/sl" },
	{ "v2 beside a v1 that is not delegated", "bare", "pmu", "", "v2 unified/bare" },
	{ "auto: the service's group in v1", "auto", "pm", "4:memory:/unit/api\n8:pids:/\n0::/\n", "v1 memory/unit" },
	{ "auto: the service's group in v2", "auto", "u", "0::/unit/api\n", "v2 unified/unit" },
	{ "auto: seen from a container", "auto", "n", "0::/docker/x/unit/api\n", "v2 unified/unit" },
	{ "auto: cron's group is not the service's", "auto", "u", "0::/system.slice/cron.service\n", "none" },
	{ "auto: another leaf of its group is not the service's", "auto", "u", "0::/unit/other\n", "none" },
	{ "auto: a leaf of that name at the top is nobody's", "auto", "u", "0::/api\n", "none" },
	{ "auto: no groups at all", "auto", "", "", "none" },
	{ "a group that is not there", "nowhere", "pmu", "", NULL },
	{ "a way out of the tree", "../sl", "pmu", "", NULL },
	{ "an empty name", "", "pmu", "", NULL },
};
/* clang-format on */

static char *
described(const struct cgroup_tree *t)
{
	struct buf b = { 0 };

	buf_str(&b, t->ops->name);
	for (size_t i = 0; i < t->count; i++)
		buf_fmt(&b, " %s", t->at[i].dir + strlen(BASE) + 1);
	return b.data;
}

static void
the_setting_finds_the_delegated_groups(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(FIND); i++) {
		const struct find_case *c = &FIND[i];
		auto_free char *text = mounts(c->kinds), *got = NULL;
		struct cgroup_tree t;
		struct err e = { 0 };
		int rc = cgroup_find_in(c->setting, text, c->groups, &t, &e);

		if (c->want == NULL) {
			if (rc == 0)
				fail_msg("%s: was found", c->what);
			assert_non_null(strstr(e.msg, "cgroup_root: "));
			continue;
		}
		if (rc < 0)
			fail_msg("%s: %s", c->what, e.msg);
		got = described(&t);
		if (!str_equal(got, c->want))
			fail_msg("%s: %s", c->what, got);
	}
}

static struct cgroup_tree
tree(const char *setting, const char *kinds)
{
	auto_free char *text = mounts(kinds);
	struct cgroup_tree t;
	struct err e = { 0 };

	assert_int_equal(cgroup_find_in(setting, text, "", &t, &e), 0);
	return t;
}

static void
a_controller_holds_what_it_was_given(void **state)
{
	struct cgroup_tree v1 = tree("sl", "pm"), v2 = tree("sl", "u");
	struct cgroup_tree bare = tree("bare", "u"), none = tree("none", "");

	(void)state;
	assert_true(cgroup_holds(&v1, CGROUP_MEMORY));
	assert_true(cgroup_holds(&v1, CGROUP_PIDS));
	assert_false(cgroup_holds(&v1, CGROUP_CPU));
	assert_true(cgroup_holds(&v2, CGROUP_CPU));
	assert_false(cgroup_holds(&bare, CGROUP_MEMORY));
	assert_false(cgroup_holds(&none, CGROUP_MEMORY));
}

static void
a_cell_meets_its_own_limit_first(void **state)
{
	struct sandbox_spec s = { .memory_mb = 512,
		.pids = 256,
		.cpu_millis = 1500 };
	struct cgroup_limits box = cgroup_box_limits(&s);
	struct cgroup_limits cell = cgroup_cell_limits(&s);

	(void)state;
	assert_int_equal(cell.number[CGROUP_MEMORY], 512 * 1024 * 1024);
	assert_int_equal(cell.number[CGROUP_PIDS], 256);
	assert_int_equal(cell.number[CGROUP_CPU], 0);
	assert_true(box.number[CGROUP_MEMORY] > cell.number[CGROUP_MEMORY]);
	assert_true(box.number[CGROUP_PIDS] > cell.number[CGROUP_PIDS]);
	assert_int_equal(box.number[CGROUP_CPU], 150000);
	s = (struct sandbox_spec){ 0 };
	box = cgroup_box_limits(&s);
	for (int c = 0; c < CGROUP__MAX; c++)
		assert_int_equal(box.number[c], 0);
}

static void
assert_content(const char *name, const char *want)
{
	auto_free char *path = at(name);
	auto_buf struct buf text = { 0 };
	struct err e = { 0 };
	bool found;

	assert_int_equal(file_read(AT_FDCWD, path, TEXT_MAX, &found, &text, &e),
	    0);
	assert_true(found);
	assert_string_equal(text.data, want);
}

static void
limits_are_written_where_they_belong(void **state)
{
	struct cgroup_tree t = tree("sl", "m");
	struct sandbox_spec s = { .memory_mb = 1, .pids = 9 };
	int fds[PROVIDER_CELL_FDS_MAX];
	struct err e = { 0 };
	size_t count;

	(void)state;
	/* memory.memsw.limit_in_bytes is missing, which is allowed */
	assert_int_equal(cgroup_make(&t, "ses-1", &s, &e), 0);
	assert_content("memory/sl/box/ses-1/memory.limit_in_bytes", "34603008");
	assert_int_equal(
	    cgroup_cell_open(&t, "ses-1", "a", &s, fds, &count, &e), 0);
	assert_content("memory/sl/box/ses-1/s-a/memory.limit_in_bytes",
	    "1048576");
	assert_int_equal(count, 1);
	assert_int_equal(write(fds[0], "0", 1), 1);
	close(fds[0]);
	/* not cgroup.procs, which would stop every fork of the machine */
	assert_content("memory/sl/box/ses-1/s-a/tasks", "0");
	assert_content("memory/sl/box/ses-1/s-a/cgroup.procs", "");
}

static void
buffers_of_sockets_are_limited_apart(void **state)
{
	struct cgroup_tree t = tree("sl", "m");
	struct sandbox_spec s = { .memory_mb = 128 };
	int fds[PROVIDER_CELL_FDS_MAX];
	struct err e = { 0 };
	size_t count;

	(void)state;
	assert_int_equal(cgroup_make(&t, "ses-1", &s, &e), 0);
	assert_content("memory/sl/box/ses-1/memory.kmem.tcp.limit_in_bytes",
	    "20971520");
	assert_int_equal(
	    cgroup_cell_open(&t, "ses-1", "a", &s, fds, &count, &e), 0);
	assert_content("memory/sl/box/ses-1/s-a/memory.kmem.tcp.limit_in_bytes",
	    "16777216");
	close(fds[0]);
}

static void
a_cell_has_a_share_of_the_processor(void **state)
{
	struct cgroup_tree t = tree("sl", "c");
	struct sandbox_spec s = { .cpu_millis = 1000 };
	int fds[PROVIDER_CELL_FDS_MAX];
	struct err e = { 0 };
	size_t count;

	(void)state;
	/* no limit is written, since there is no file for one */
	assert_int_equal(
	    cgroup_cell_open(&t, "ses-1", "a", &s, fds, &count, &e), 0);
	assert_int_equal(count, 1);
	assert_int_equal(write(fds[0], "0", 1), 1);
	close(fds[0]);
	assert_content("cpu/sl/box/ses-1/s-a/tasks", "0");
}

static void
all_together_leave_something_to_the_host(void **state)
{
	const int64_t gb = 1024L * 1024 * 1024;
	static const struct {
		int64_t mb, want_mb;
	} CASES[] = {
		{ 512, 256 },
		{ 2048, 1536 },
		{ 16384, 14336 },
	};
	struct cgroup_tree t = tree("sl", "m");
	struct err e = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		struct cgroup_limits l =
		    cgroup_all_limits(CASES[i].mb * (gb / 1024), 32768);

		assert_int_equal(l.number[CGROUP_MEMORY],
		    CASES[i].want_mb * (gb / 1024));
		assert_int_equal(l.number[CGROUP_PIDS], 24576);
		assert_int_equal(l.number[CGROUP_CPU], 0);
	}
	assert_int_equal(cgroup_limit_all(&t, &e), 0);
	{
		auto_free char *path =
		    at("memory/sl/box/memory.limit_in_bytes");
		struct stat st;

		assert_int_equal(stat(path, &st), 0);
		assert_true(st.st_size > 0);
	}
}

static void
a_limit_that_cannot_be_set_is_an_error(void **state)
{
	struct cgroup_tree t = tree("sl", "m");
	struct sandbox_spec s = { .memory_mb = 1 };
	auto_free char *cell = at("memory/sl/box/ses-1/s-b");
	int fds[PROVIDER_CELL_FDS_MAX];
	struct err e = { 0 };
	size_t count;

	(void)state;
	/* a plain directory gets no control files */
	assert_int_equal(
	    cgroup_cell_open(&t, "ses-1", "b", &s, fds, &count, &e), -1);
	assert_non_null(strstr(e.msg, "memory.limit_in_bytes"));
	assert_int_equal(e.code, CODE_INTERNAL);
	assert_int_equal(count, 0);
	rmdir(cell);
}

/* The sandbox is being destroyed, or its empty group was removed. */
static void
a_group_that_was_removed_meanwhile_is_no_fault_of_the_host(void **state)
{
	struct cgroup_tree t = tree("sl", "m");
	struct sandbox_spec s = { .memory_mb = 1 };
	int fds[PROVIDER_CELL_FDS_MAX];
	struct err e = { 0 };
	size_t count;

	(void)state;
	assert_int_equal(
	    cgroup_cell_open(&t, "ses-gone", "b", &s, fds, &count, &e), -1);
	assert_int_equal(e.code, CODE_LEASE_CHANGED);
	assert_true(err_retryable(&e));
	assert_int_equal(count, 0);
}

/* A process that waits to be killed. */
static pid_t
somebody(void)
{
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			pause();
	assert_true(pid > 0);
	return pid;
}

static void
the_living_are_counted_and_zombies_are_not(void **state)
{
	struct cgroup_tree t = tree("sl", "m");
	pid_t alive = somebody(), dead = somebody();
	char text[64];
	siginfo_t info;
	struct err e = { 0 };
	size_t count;

	(void)state;
	kill(dead, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)dead, &info, WEXITED | WNOWAIT),
	    0);
	snprintf(text, sizeof(text), "%d\n%d\n", (int)alive, (int)dead);
	put("memory/sl/box/ses-1/s-a/cgroup.procs", text);
	assert_int_equal(cgroup_count(&t, "ses-1", NULL, &count, &e), 0);
	assert_int_equal(count, 1);
	assert_int_equal(cgroup_count(&t, "ses-1", "a", &count, &e), 0);
	assert_int_equal(count, 1);
	assert_int_equal(cgroup_count(&t, "ses-1", "none", &count, &e), 0);
	assert_int_equal(count, 0);
	assert_int_equal(cgroup_count(&t, "ses-2", NULL, &count, &e), 0);
	assert_int_equal(count, 0);
	kill(alive, SIGKILL);
	waitpid(alive, NULL, 0);
	waitpid(dead, NULL, 0);
	put("memory/sl/box/ses-1/s-a/cgroup.procs", "");
}

/* A list that is out of date may have a pid that another process has now. */
static void
whoever_is_not_in_the_group_is_not_killed(void **state)
{
	struct cgroup_tree t = tree("sl", "m");
	pid_t innocent = somebody();
	char text[32];
	struct err e = { 0 };

	(void)state;
	snprintf(text, sizeof(text), "%d\n", (int)innocent);
	put("memory/sl/box/ses-1/init/cgroup.procs", text);
	assert_int_equal(cgroup_kill(&t, "ses-1", &e), 0);
	assert_int_equal(waitpid(innocent, NULL, WNOHANG), 0);
	kill(innocent, SIGKILL);
	waitpid(innocent, NULL, 0);
	put("memory/sl/box/ses-1/init/cgroup.procs", "");
}

static void
only_sandboxes_are_named(void **state)
{
	struct cgroup_tree t = tree("sl", "m"), none = tree("none", "");
	auto_names char **names = NULL, **nobody = NULL;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(cgroup_names(&t, &names, &e), 0);
	assert_string_equal(names[0], "ses-1");
	assert_null(names[1]);
	assert_int_equal(cgroup_names(&none, &nobody, &e), 0);
	assert_null(nobody[0]);
}

static void
a_tree_is_read_as_it_was_written(void **state)
{
	static const char MANY[] = "{\"kind\":\"v1\",\"at\":[{},{},{},{},{}]}";
	struct cgroup_tree t = tree("sl", "pm"), back;
	auto_free char *text = cgroup_text(&t);
	struct err e = { 0 };

	_Static_assert(CGROUP__MAX == 4, "one less than MANY has");

	(void)state;
	assert_int_equal(cgroup_parse(text, strlen(text), &back, &e), 0);
	assert_ptr_equal(back.ops, t.ops);
	assert_int_equal(back.count, t.count);
	for (size_t i = 0; i < t.count; i++) {
		assert_int_equal(back.at[i].controllers, t.at[i].controllers);
		assert_string_equal(back.at[i].dir, t.at[i].dir);
	}
	assert_int_equal(cgroup_parse("{\"kind\":\"v3\"}", 13, &back, &e), -1);
	/* more hierarchies than there is room for */
	assert_int_equal(cgroup_parse(MANY, strlen(MANY), &back, &e), -1);
}

static void
the_master_moves_into_a_leaf_of_its_own(void **state)
{
	static const char GROUPS[] = "4:memory:/\n0::/sl.service\n";
	auto_free char *mounts = NULL, *dir = NULL, *path = NULL;
	char top[] = "/tmp/sl-leaf-XXXXXX", text[16] = "";
	struct err e = { 0 };
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(top));
	dir = xasprintf("%s/sl.service", top);
	mounts = xasprintf("30 20 0:26 / %s rw - cgroup2 cgroup2 rw\n", top);
	/* not our group to divide: nothing happens */
	assert_int_equal(cgroup_enter_leaf_in(mounts, GROUPS, 17, &e), 0);
	assert_int_equal(mkdir(dir, 0755), 0);
	/* the kernel would make cgroup.procs, a plain directory does not */
	assert_int_equal(cgroup_enter_leaf_in(mounts, GROUPS, 17, &e), -1);
	path = xasprintf("%s/api/cgroup.procs", dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fclose(f);
	assert_int_equal(cgroup_enter_leaf_in(mounts, GROUPS, 17, &e), 0);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	fclose(f);
	assert_string_equal(text, "17");
	unlink(path);
	*strrchr(path, '/') = '\0';
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(rmdir(top), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_setting_finds_the_delegated_groups),
		cmocka_unit_test(a_controller_holds_what_it_was_given),
		cmocka_unit_test(a_cell_meets_its_own_limit_first),
		cmocka_unit_test(limits_are_written_where_they_belong),
		cmocka_unit_test(buffers_of_sockets_are_limited_apart),
		cmocka_unit_test(a_cell_has_a_share_of_the_processor),
		cmocka_unit_test(all_together_leave_something_to_the_host),
		cmocka_unit_test(a_limit_that_cannot_be_set_is_an_error),
		cmocka_unit_test(
		    a_group_that_was_removed_meanwhile_is_no_fault_of_the_host),
		cmocka_unit_test(the_living_are_counted_and_zombies_are_not),
		cmocka_unit_test(whoever_is_not_in_the_group_is_not_killed),
		cmocka_unit_test(only_sandboxes_are_named),
		cmocka_unit_test(a_tree_is_read_as_it_was_written),
		cmocka_unit_test(the_master_moves_into_a_leaf_of_its_own),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
