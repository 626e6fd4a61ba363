/* artifact_test.c: tests that files are kept by their hash, and removed. */
#include "../unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/str.h"
#include "provider/store/artifact.h"

#define HELLO "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"

static char BASE[] = "/tmp/slartifactXXXXXX";
static struct conf CONF;
static char ORG[ARTIFACT_ORG_MAX], OTHER[ARTIFACT_ORG_MAX];

static int
set_up(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(BASE));
	str_copy(CONF.artifact_dir, sizeof(CONF.artifact_dir), BASE);
	artifact_org("one", ORG);
	artifact_org("two", OTHER);
	assert_string_not_equal(ORG, OTHER);
	return 0;
}

static int
tear_down(void **state)
{
	auto_free char *command = xasprintf("rm -rf %s", BASE);

	(void)state;
	return system(command);
}

static void
keep(const char *org, const char *text, char hash[DIGEST_HEX_MAX])
{
	auto_artifact struct artifact_file f = ARTIFACT_NONE;
	struct err e = { 0 };

	if (artifact_begin(&CONF, org, &f, &e) < 0 ||
	    artifact_add(&f, text, 1, &e) < 0 ||
	    artifact_add(&f, text + 1, strlen(text) - 1, &e) < 0 ||
	    artifact_end(&f, true, hash, &e) < 0)
		fail_msg("%s", e.msg);
	assert_int_equal(f.bytes, strlen(text));
}

static bool
is_there(const char *org, const char *hash, const char *text)
{
	struct err e = { 0 };
	auto_fd int fd = artifact_open(&CONF, org, hash, &e);
	char got[64];
	ssize_t n;

	if (fd < 0) {
		assert_int_equal(e.code, CODE_ARTIFACT_GONE);
		return false;
	}
	n = read(fd, got, sizeof(got));
	assert_int_equal(n, strlen(text));
	assert_memory_equal(got, text, strlen(text));
	return true;
}

static void
make_old(const char *org, const char *name)
{
	const struct timespec old[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	auto_free char *path = xasprintf("%s/%s/%s", BASE, org, name);

	assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
}

/* The answer of is_known(), and whether it writes the same meanwhile. */
static int KNOWN;
static bool TOUCHES;

static int
is_known(void *ctx, const char *org, const char *hash, struct err *e)
{
	char same[DIGEST_HEX_MAX];

	(void)ctx;
	(void)hash;
	if (TOUCHES)
		keep(org, "hello", same);
	return KNOWN < 0 ? err_set(e, ERR_UNAVAILABLE, CODE_BUSY, "busy")
			 : KNOWN;
}

static int64_t
sweep(int rc)
{
	struct err e = { 0 };
	int64_t removed = 0;

	assert_int_equal(
	    artifact_sweep(&CONF, 0x2c, is_known, NULL, &removed, &e), rc);
	return removed;
}

static void
a_file_has_the_name_of_its_hash_in_its_org(void **state)
{
	char hash[DIGEST_HEX_MAX];

	(void)state;
	keep(ORG, "hello", hash);
	assert_string_equal(hash, HELLO);
	assert_true(is_there(ORG, HELLO, "hello"));
	assert_false(is_there(OTHER, HELLO, "hello"));
	assert_false(is_there(ORG, "../../../../etc/passwd", ""));
	keep(ORG, "hello", hash);
	assert_true(is_there(ORG, HELLO, "hello"));
}

static void
a_file_that_is_not_ended_leaves_nothing(void **state)
{
	struct artifact_file f = ARTIFACT_NONE;
	struct err e = { 0 };
	auto_free char *path = NULL;

	(void)state;
	assert_int_equal(artifact_begin(&CONF, ORG, &f, &e), 0);
	path = xasprintf("%s/%s/%s", BASE, ORG, f.temp);
	assert_int_equal(access(path, F_OK), 0);
	artifact_drop(&f);
	assert_int_equal(access(path, F_OK), -1);
}

static void
only_old_files_without_a_row_are_removed(void **state)
{
	char hash[DIGEST_HEX_MAX];

	(void)state;
	keep(ORG, "hello", hash);
	KNOWN = 0;
	assert_int_equal(sweep(0), 0); /* its row may be about to come */
	make_old(ORG, "2c/" HELLO);
	KNOWN = 1;
	assert_int_equal(sweep(0), 0);
	KNOWN = -1;
	assert_int_equal(sweep(-1), 0);
	assert_true(is_there(ORG, HELLO, "hello"));
	/* another writer is about to need it */
	KNOWN = 0;
	TOUCHES = true;
	assert_int_equal(sweep(0), 0);
	TOUCHES = false;
	assert_true(is_there(ORG, HELLO, "hello"));
	make_old(ORG, "2c/" HELLO);
	assert_int_equal(sweep(0), 1);
	assert_false(is_there(ORG, HELLO, "hello"));
}

static void
a_full_disk_is_told(void **state)
{
	struct artifact_file f = ARTIFACT_NONE;
	struct err e = { 0 };

	(void)state;
	CONF.disk_low_mb = INT64_C(1) << 40;
	assert_int_equal(artifact_begin(&CONF, ORG, &f, &e), -1);
	assert_int_equal(e.code, CODE_INSUFFICIENT_STORAGE);
	CONF.disk_low_mb = 0;
	artifact_drop(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_has_the_name_of_its_hash_in_its_org),
		cmocka_unit_test(a_file_that_is_not_ended_leaves_nothing),
		cmocka_unit_test(only_old_files_without_a_row_are_removed),
		cmocka_unit_test(a_full_disk_is_told),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
