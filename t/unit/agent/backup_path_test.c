/* backup_path_test.c: tests the sources of backups, and where they may lie. */
#include "../unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/archive/backup_path.h"
#include "agent/files/tree.h"
#include "common/mem.h"

static void
paths_have_their_places(void **state)
{
	static const struct {
		enum backup_place place;
		const char *path;
		bool want;
	} CASES[] = {
		{ BACKUP_DIR, "/workspace", true },
		{ BACKUP_DIR, "/workspace/", true },
		{ BACKUP_DIR, "//workspace//a/./b", true },
		{ BACKUP_DIR, "/home/user", true },
		{ BACKUP_DIR, "/tmp/x", true },
		{ BACKUP_DIR, "/var/tmp", true },
		{ BACKUP_DIR, "/app", true },
		{ BACKUP_DIR, "/workspace/..a", true },
		{ BACKUP_DIR, "/workspaces", false },
		{ BACKUP_DIR, "/", false },
		{ BACKUP_DIR, "/etc", false },
		{ BACKUP_DIR, "/var", false },
		{ BACKUP_DIR, "/var/backups", false },
		{ BACKUP_DIR, "workspace", false },
		{ BACKUP_DIR, "", false },
		{ BACKUP_DIR, "/workspace/../etc", false },
		{ BACKUP_DIR, "/workspace/a/..", false },
		{ BACKUP_ARCHIVE, "/var/backups/a.sqsh", true },
		{ BACKUP_ARCHIVE, "/var/backups/a/b", true },
		{ BACKUP_ARCHIVE, "/var/backups", false },
		{ BACKUP_ARCHIVE, "/var/backups/", false },
		{ BACKUP_ARCHIVE, "/var/backups/a/", false },
		{ BACKUP_ARCHIVE, "/var/backups/../x", false },
		{ BACKUP_ARCHIVE, "/var/backupsx/a", false },
		{ BACKUP_ARCHIVE, "/workspace/a", false },
		{ BACKUP_ARCHIVE, "a", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		struct err e = { 0 };
		int rc = backup_path_check(CASES[i].place, CASES[i].path, &e);

		if ((rc == 0) != CASES[i].want)
			fail_msg("%s", CASES[i].path);
		if (rc < 0)
			assert_code(e.code, CODE_INVALID_BACKUP_CONFIG);
	}
}

static void
long_paths_are_refused(void **state)
{
	auto_free char *path = xcalloc(1, 10000);
	struct err e = { 0 };

	(void)state;
	memset(path, 'a', 9999);
	memcpy(path, "/tmp/", 5);
	assert_int_equal(backup_path_check(BACKUP_DIR, path, &e), -1);
}

static void
patterns_are_relative(void **state)
{
	static const char *const GOOD[] = { "a", "*.log", "a/b", "..a", "a..",
		"**/x", "\xff" };
	static const char *const BAD[] = { "", "/a", "..", "../a", "a/../b",
		"a/..", "[ab]" };
	auto_free char *many = xcalloc(1, 257);
	struct err e = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(GOOD); i++)
		assert_int_equal(backup_pattern_check(GOOD[i], &e), 0);
	for (size_t i = 0; i < ARRAY_LEN(BAD); i++)
		assert_int_equal(backup_pattern_check(BAD[i], &e), -1);
	memset(many, 'a', 256);
	assert_int_equal(backup_pattern_check(many, &e), -1);
	many[255] = '\0';
	assert_int_equal(backup_pattern_check(many, &e), 0);
}

/* The test is below /tmp, which is allowed for the link and its target. */
static void
links_are_followed(void **state)
{
	char dir[] = "/tmp/sl-backup-XXXXXX", out[FILES_PATH_MAX];
	struct err e = { 0 };

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chdir(dir), 0);
	assert_int_equal(mkdir("real", 0755), 0);
	assert_int_equal(symlink("real", "in"), 0);
	assert_int_equal(symlink("/etc", "out"), 0);
	assert_int_equal(symlink("/tmp/nowhere/at/all", "dangling"), 0);
	assert_int_equal(symlink("loop", "loop"), 0);
	{
		auto_free char *in = xasprintf("%s/in/new/sub", dir);
		auto_free char *want = xasprintf("%s/real/new/sub", dir);
		auto_free char *outside = xasprintf("%s/out/x", dir);
		auto_free char *dangling = xasprintf("%s/dangling", dir);
		auto_free char *loop = xasprintf("%s/loop", dir);

		assert_int_equal(backup_path_find(BACKUP_DIR, in, out, &e), 0);
		assert_string_equal(out, want);
		assert_int_equal(backup_path_find(BACKUP_DIR, outside, out, &e),
		    -1);
		assert_int_equal(
		    backup_path_find(BACKUP_DIR, dangling, out, &e), -1);
		assert_int_equal(backup_path_find(BACKUP_DIR, loop, out, &e),
		    -1);
	}
	assert_int_equal(
	    backup_path_find(BACKUP_DIR, "/app/sl-none/x", out, &e), 0);
	assert_string_equal(out, "/app/sl-none/x");
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(tree_remove(dir, &e), 0);
}

static void
an_archive_has_an_id(void **state)
{
	static const char *const CASES[][2] = {
		{ "/var/backups/a-b.sqsh", "a-b" },
		{ "/var/backups/x/a.b.c", "a.b" },
		{ "/var/backups/a", "a" },
		{ "/var/backups/.a", ".a" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		char out[64];

		backup_id(CASES[i][0], out, sizeof(out));
		assert_string_equal(out, CASES[i][1]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_have_their_places),
		cmocka_unit_test(long_paths_are_refused),
		cmocka_unit_test(patterns_are_relative),
		cmocka_unit_test(links_are_followed),
		cmocka_unit_test(an_archive_has_an_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
