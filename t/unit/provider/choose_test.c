/* choose_test.c: tests that a host's first fault is told in one sentence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/mem.h"
#include "common/str.h"
#include "provider/choose/choose.h"

static char BASE[] = "/tmp/slopenXXXXXX";
static struct conf CONF;

static const char *const DIRS[] = { "st/trash", "st/storage", "st/snapshots",
	"st/artifacts", "st/jobs", "st/box", "st", "r/c", "r/s", "r" };

static int
begin(void **state)
{
	(void)state;
	snprintf(CONF.run_dir, sizeof(CONF.run_dir), "%s/r", BASE);
	snprintf(CONF.state_dir, sizeof(CONF.state_dir), "%s/st", BASE);
	str_copy(CONF.bwrap_path, sizeof(CONF.bwrap_path), "/bin/true");
	str_copy(CONF.agent_path, sizeof(CONF.agent_path), "/bin/true");
	str_copy(CONF.cgroup_root, sizeof(CONF.cgroup_root), "none");
	return 0;
}

static int
finish(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(DIRS); i++) {
		auto_free char *path = xasprintf("%s/%s", BASE, DIRS[i]);

		rmdir(path);
	}
	return 0;
}

static int
set_up(void **state)
{
	(void)state;
	return mkdtemp(BASE) != NULL ? 0 : -1;
}

static int
tear_down(void **state)
{
	(void)state;
	return rmdir(BASE);
}

static unsigned
mode_of(const char *name)
{
	auto_free char *path = xasprintf("%s/%s", BASE, name);
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return (unsigned)(st.st_mode & 07777);
}

static void
opening_makes_private_directories(void **state)
{
	struct provider p;
	struct err e = { 0 };

	(void)state;
	for (int i = 0; i < 2; i++)
		if (provider_open("local", &CONF, "a", &p, &e) < 0)
			fail_msg("%s", e.msg);
	assert_int_equal(mode_of("st"), 0700);
	assert_int_equal(mode_of("r/c"), 0700);
	assert_int_equal(strlen(p.boot_id), 36);
	assert_string_equal(p.installation, "a");
}

/* In each case one thing is wrong, and the sentence names it. */
static const struct {
	size_t offset;
	const char *value;
	const char *says;
} WRONG[] = {
	{ offsetof(struct conf, run_dir),
	    "/tmp/a-directory-of-forty-one-bytes-or-so",
	    "run_dir is longer than 40 bytes: "
	    "/tmp/a-directory-of-forty-one-bytes-or-so" },
	{ offsetof(struct conf, run_dir), "/nonexistent/r",
	    "cannot make directory /nonexistent/r: No such file or directory" },
	{ offsetof(struct conf, bwrap_path), "/nonexistent/bwrap",
	    "bubblewrap is needed, bwrap_path /nonexistent/bwrap: No such file or directory" },
	{ offsetof(struct conf, agent_path), "/nonexistent/agent",
	    "the agent is needed, agent_path /nonexistent/agent: No such file or directory" },
	{ offsetof(struct conf, cgroup_root), "sandlease-nowhere",
	    "cgroup_root: no mounted hierarchy has a group \"sandlease-nowhere\" that this user may write" },
};

static void
what_is_missing_is_one_clear_sentence(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(WRONG); i++) {
		struct conf c = CONF;
		struct provider p;
		struct err e = { 0 };

		str_copy((char *)&c + WRONG[i].offset, CONF_STR_MAX,
		    WRONG[i].value);
		if (provider_open("local", &c, "a", &p, &e) == 0)
			assert_int_equal(p.ops->ready(&p, &e), -1);
		assert_string_equal(e.msg, WRONG[i].says);
		assert_int_equal(e.kind, ERR_UNAVAILABLE);
	}
}

static void
a_state_directory_that_others_can_enter_is_refused(void **state)
{
	struct provider p;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(mkdir(CONF.state_dir, 0755), 0);
	assert_int_equal(chmod(CONF.state_dir, 0755), 0);
	assert_int_equal(provider_open("local", &CONF, "a", &p, &e), -1);
	assert_non_null(strstr(e.msg, "must have mode 0700, it has 0755"));
}

static void
checking_tries_bubblewrap_and_repeats_what_it_says(void **state)
{
	struct provider p;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(provider_open("local", &CONF, "a", &p, &e), 0);
	assert_int_equal(provider_check(&p, &e), 0);
	str_copy(CONF.bwrap_path, sizeof(CONF.bwrap_path), "/bin/ls");
	assert_int_equal(provider_check(&p, &e), -1);
	assert_non_null(strstr(e.msg, "user namespaces allowed?): "));
	assert_non_null(strstr(e.msg, "unshare-user"));
	str_copy(CONF.bwrap_path, sizeof(CONF.bwrap_path), "/bin/false");
	assert_int_equal(provider_check(&p, &e), -1);
}

static void
an_unknown_provider_is_told(void **state)
{
	struct provider p;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(provider_open("dockr", &CONF, "a", &p, &e), -1);
	assert_string_equal(e.msg, "there is no provider \"dockr\"");
	/* no program has the provider of the tests */
	assert_int_equal(provider_open("fake", &CONF, "a", &p, &e), -1);
	assert_string_equal(e.msg, "there is no provider \"fake\"");
}

#define test(f) cmocka_unit_test_setup_teardown(f, begin, finish)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		test(opening_makes_private_directories),
		test(what_is_missing_is_one_clear_sentence),
		test(a_state_directory_that_others_can_enter_is_refused),
		test(checking_tries_bubblewrap_and_repeats_what_it_says),
		test(an_unknown_provider_is_told),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
