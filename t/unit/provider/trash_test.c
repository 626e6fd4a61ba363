/* trash_test.c: tests that hostile trees go, and nothing beside them. */
#include "../unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"
#include "provider/host/file.h"
#include "provider/host/trash.h"

enum {
	DEEP = 5000,
	MANY = 3000,
	TREES = 500,
	SWEEPERS = 3,
	SOON_MS = PATIENCE_MS,
	LOOKS = 10,
	NOBODY = 64123
};

/* How many reads of the clock until the deadline; -1: the real clock. */
static int LOOKS_LEFT = -1;

int __real_clock_left_ms(int64_t deadline_ms);
int __wrap_clock_left_ms(int64_t deadline_ms);

int
__wrap_clock_left_ms(int64_t deadline_ms)
{
	if (LOOKS_LEFT < 0)
		return __real_clock_left_ms(deadline_ms);
	return LOOKS_LEFT > 0 ? LOOKS_LEFT-- : 0;
}

static char BASE[] = "/tmp/sltrashXXXXXX";
static struct conf CONF;
static struct provider P = { .conf = &CONF };

static int
set_up(void **state)
{
	(void)state;
	if (mkdtemp(BASE) == NULL)
		return -1;
	snprintf(CONF.state_dir, sizeof(CONF.state_dir), "%s", BASE);
	return 0;
}

static int
tear_down(void **state)
{
	auto_free char *trash = xasprintf("%s/trash", BASE);

	(void)state;
	if (rmdir(trash) < 0 || rmdir(BASE) < 0)
		return -1;
	return 0;
}

static int
base(void)
{
	int fd = open(BASE, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void
make_file(int at, const char *name)
{
	auto_fd int fd = openat(at, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
}

static int
make_dir(int at, const char *name)
{
	struct err e = { 0 };
	int fd = file_dir(at, name, 0700, &e);

	assert_true(fd >= 0);
	return fd;
}

static size_t
left_in_trash(void)
{
	auto_free char *trash = xasprintf("%s/trash", BASE);
	auto_names char **names = NULL;
	struct err e = { 0 };
	size_t n = 0;

	assert_int_equal(file_names(AT_FDCWD, trash, &names, &e), 0);
	while (names[n] != NULL)
		n++;
	return n;
}

static void
throw_away(const char *name)
{
	auto_fd int at = base();
	struct err e = { 0 };

	assert_int_equal(trash_take(&P, at, name, &e), 0);
	assert_int_equal(faccessat(at, name, F_OK, AT_SYMLINK_NOFOLLOW), -1);
}

static void
sweep_all(void)
{
	struct err e = { 0 };
	bool left = true;

	if (trash_sweep(&P, clock_ms() + SOON_MS, &left, &e) < 0)
		fail_msg("%s", e.msg);
	assert_false(left);
	assert_int_equal(left_in_trash(), 0);
}

static void
what_is_not_there_is_thrown_away_already(void **state)
{
	(void)state;
	throw_away("nothing");
	sweep_all();
}

static void
symlinks_are_unlinked_and_not_followed(void **state)
{
	auto_fd int at = base();
	auto_fd int safe = make_dir(at, "safe"), tree = make_dir(at, "tree");

	(void)state;
	make_file(safe, "precious");
	assert_int_equal(symlinkat("../safe", tree, "dir"), 0);
	assert_int_equal(symlinkat("../safe/precious", tree, "file"), 0);
	assert_int_equal(symlinkat("/", tree, "root"), 0);
	assert_int_equal(symlinkat("loop", tree, "loop"), 0);
	assert_int_equal(linkat(safe, "precious", tree, "hard", 0), 0);
	throw_away("tree");
	sweep_all();
	assert_int_equal(faccessat(safe, "precious", F_OK, 0), 0);
	/* the thing thrown away may itself be a symlink */
	assert_int_equal(symlinkat("safe", at, "tree"), 0);
	throw_away("tree");
	sweep_all();
	assert_int_equal(faccessat(safe, "precious", F_OK, 0), 0);
	unlinkat(safe, "precious", 0);
	unlinkat(at, "safe", AT_REMOVEDIR);
}

static void
depth_costs_nothing(void **state)
{
	auto_fd int at = base();
	int dir = make_dir(at, "deep");

	(void)state;
	for (int i = 0; i < DEEP; i++) {
		int next = make_dir(dir, "d");

		if (i % 100 == 0)
			make_file(dir, "f");
		close(dir);
		dir = next;
	}
	close(dir);
	throw_away("deep");
	sweep_all();
}

static void
fifos_and_sockets_do_not_block(void **state)
{
	auto_fd int at = base();
	auto_fd int tree = make_dir(at, "tree");

	(void)state;
	assert_int_equal(mkfifoat(tree, "fifo", 0), 0);
	assert_int_equal(mknodat(tree, "socket", S_IFSOCK | 0600, 0), 0);
	throw_away("tree");
	/* also at the top */
	assert_int_equal(mkfifoat(at, "fifo", 0600), 0);
	throw_away("fifo");
	sweep_all();
}

static void
modes_do_not_protect_a_tree(void **state)
{
	auto_fd int at = base();
	auto_fd int tree = make_dir(at, "tree"), a = make_dir(tree, "a");
	auto_fd int b = make_dir(a, "b"), c = make_dir(b, "c");

	(void)state;
	make_file(c, "file");
	assert_int_equal(fchmod(c, 0555), 0);
	assert_int_equal(fchmod(b, 0), 0);
	assert_int_equal(fchmod(a, 0111), 0);
	assert_int_equal(fchmod(tree, 01777), 0);
	throw_away("tree");
	sweep_all();
	assert_int_equal(mkdirat(at, "bare", 0), 0);
	throw_away("bare");
	sweep_all();
}

static void
a_deadline_is_kept_and_the_rest_goes_later(void **state)
{
	auto_fd int at = base();
	auto_fd int tree = make_dir(at, "tree");
	struct err e = { 0 };
	bool left = false;

	(void)state;
	for (int i = 0; i < MANY; i++) {
		char name[32];

		snprintf(name, sizeof(name), "%d", i);
		if (i % 3 == 0)
			assert_int_equal(mkdirat(tree, name, 0700), 0);
		else
			make_file(tree, name);
	}
	throw_away("tree");
	/* a deadline in the past: nothing is done, and `left` says so */
	assert_int_equal(trash_sweep(&P, clock_ms(), &left, &e), 0);
	assert_true(left);
	assert_int_equal(left_in_trash(), 1);
	sweep_all();
}

/* An operator learns of it by the reaper's exit code. */
static void
what_cannot_be_removed_is_an_error(void **state)
{
	auto_free char *trash = xasprintf("%s/trash", BASE);
	auto_fd int at = base();
	struct err e = { 0 };
	bool left = false;

	(void)state;
	close(make_dir(at, "tree"));
	throw_away("tree");
	assert_int_equal(chmod(trash, 0500), 0);
	assert_int_equal(trash_sweep(&P, clock_ms() + SOON_MS, &left, &e), -1);
	assert_true(left);
	assert_int_equal(chmod(trash, 0700), 0);
	sweep_all();
}

/* Also with many files in one directory. */
static void
a_deadline_is_kept_within_one_directory(void **state)
{
	auto_fd int at = base();
	auto_fd int tree = make_dir(at, "tree");
	struct err e = { 0 };
	bool left = false;

	(void)state;
	for (int i = 0; i < LOOKS * 10; i++) {
		char name[32];

		snprintf(name, sizeof(name), "%d", i);
		make_file(tree, name);
	}
	throw_away("tree");
	LOOKS_LEFT = LOOKS;
	assert_int_equal(trash_sweep(&P, clock_ms(), &left, &e), 0);
	LOOKS_LEFT = -1;
	assert_true(left);
	assert_int_equal(left_in_trash(), 1);
	sweep_all();
}

/* A trash on another file system lies among live directories. */
static void
what_has_no_name_of_the_trash_is_left_alone(void **state)
{
	auto_fd int at = base();
	auto_fd int box = make_dir(at, "box"), alive = make_dir(box, "alive");
	auto_fd int thrown = make_dir(box, ".trash-abc");
	struct err e = { 0 };
	bool left = true;

	(void)state;
	make_file(alive, "precious");
	make_file(thrown, "file");
	close(make_dir(thrown, "below"));
	assert_int_equal(trash_sweep_here(box, clock_ms() + SOON_MS, &left, &e),
	    0);
	assert_false(left);
	assert_int_equal(faccessat(alive, "precious", F_OK, 0), 0);
	assert_int_equal(faccessat(box, ".trash-abc", F_OK, 0), -1);
	unlinkat(alive, "precious", 0);
	unlinkat(box, "alive", AT_REMOVEDIR);
	unlinkat(at, "box", AT_REMOVEDIR);
}

/* A sweep does not fail because another one removed a tree first. */
static void
several_sweep_at_once(void **state)
{
	auto_fd int at = base();
	pid_t sweepers[SWEEPERS];
	int status;

	(void)state;
	for (int i = 0; i < TREES; i++) {
		auto_fd int tree = make_dir(at, "tree");
		auto_fd int below = make_dir(tree, "below");

		make_file(tree, "file");
		make_file(below, "file");
		throw_away("tree");
	}
	for (int i = 0; i < SWEEPERS; i++) {
		struct err e = { 0 };
		bool left = true;

		sweepers[i] = fork();
		assert_true(sweepers[i] >= 0);
		if (sweepers[i] == 0)
			_exit(trash_sweep(&P, clock_ms() + SOON_MS, &left, &e) <
			    0);
	}
	for (int i = 0; i < SWEEPERS; i++) {
		assert_int_equal(waitpid(sweepers[i], &status, 0), sweepers[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(left_in_trash(), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_there_is_thrown_away_already),
		cmocka_unit_test(symlinks_are_unlinked_and_not_followed),
		cmocka_unit_test(depth_costs_nothing),
		cmocka_unit_test(fifos_and_sockets_do_not_block),
		cmocka_unit_test(modes_do_not_protect_a_tree),
		cmocka_unit_test(a_deadline_is_kept_and_the_rest_goes_later),
		cmocka_unit_test(what_cannot_be_removed_is_an_error),
		cmocka_unit_test(a_deadline_is_kept_within_one_directory),
		cmocka_unit_test(what_has_no_name_of_the_trash_is_left_alone),
		cmocka_unit_test(several_sweep_at_once),
	};

	/* modes do not stop root, so the test is not root */
	if (geteuid() == 0 && (setgid(NOBODY) < 0 || setuid(NOBODY) < 0))
		return 1;
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
