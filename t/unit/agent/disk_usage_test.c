/* disk_usage_test.c: tests the measuring of a session's disk usage. */
#include "../tree.h"

#include <sys/mman.h>
#include <sys/wait.h>

#include "agent/init/disk_usage.h"
#include "common/clock.h"

enum { FILE_BYTES = 256 * 1024, ENTRIES = 1000 };

static void
put(const char *name)
{
	static char bytes[FILE_BYTES];
	int fd = open(name, O_WRONLY | O_CREAT, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
	fsync(fd); /* some file systems give a file no blocks before that */
	close(fd);
}

static struct disk_usage
measure(int64_t entries)
{
	struct disk_usage u = { .whole = true,
		.entries = entries,
		.until = clock_ms() + PATIENCE_MS };

	disk_usage_tree(dir, &u);
	return u;
}

static void
files_in_all_depths_are_counted(void **state)
{
	struct disk_usage u;

	(void)state;
	put("a");
	assert_int_equal(mkdir("d", 0700), 0);
	assert_int_equal(mkdir("d/e", 0700), 0);
	put("d/e/f");
	u = measure(ENTRIES);
	assert_true(u.whole);
	assert_true(u.bytes >= 2 * FILE_BYTES && u.bytes < 3 * FILE_BYTES);
}

static void
no_symlink_is_followed(void **state)
{
	struct disk_usage u;

	(void)state;
	assert_int_equal(symlink("/usr", "out"), 0);
	assert_int_equal(symlink(".", "loop"), 0);
	u = measure(ENTRIES);
	assert_true(u.whole);
	assert_true(u.bytes < FILE_BYTES);
}

static void
a_fifo_holds_nobody_up(void **state)
{
	(void)state;
	assert_int_equal(mkfifo("pipe", 0600), 0);
	assert_true(measure(ENTRIES).whole);
}

static void
a_file_with_two_names_counts_once(void **state)
{
	struct disk_usage u;

	(void)state;
	put("a");
	assert_int_equal(link("a", "b"), 0);
	u = measure(ENTRIES);
	assert_true(u.bytes >= FILE_BYTES && u.bytes < 2 * FILE_BYTES);
}

static void
an_inode_costs_something_however_empty(void **state)
{
	enum { EMPTY = 100 };
	struct disk_usage u;

	(void)state;
	for (int i = 0; i < EMPTY; i++) {
		char name[16];

		snprintf(name, sizeof(name), "n%d", i);
		assert_int_equal(mknod(name, S_IFREG | 0600, 0), 0);
	}
	u = measure(ENTRIES);
	assert_int_equal(u.bytes, EMPTY * USAGE_INODE_BYTES);
	assert_int_equal(u.inode_bytes, EMPTY * USAGE_INODE_BYTES);
	assert_int_equal(link("n0", "again"), 0);
	u = measure(ENTRIES);
	assert_int_equal(u.inode_bytes, EMPTY * USAGE_INODE_BYTES);
}

static void
what_was_not_seen_is_said(void **state)
{
	(void)state;
	for (int i = 0; i < 10; i++) {
		char name[16];

		snprintf(name, sizeof(name), "n%d", i);
		put(name);
	}
	assert_false(measure(5).whole);
	assert_true(measure(ENTRIES).whole);
}

/* Makes nested directories, with a file on each side of every tenth. */
static void
dig(int depth)
{
	for (int i = 0; i < depth; i++) {
		if (i % 10 == 0) {
			put("a");
			put("z");
		}
		assert_true(mkdir("d", 0700) == 0 && chdir("d") == 0);
	}
	assert_int_equal(chdir(dir), 0);
}

static void
depth_hides_nothing(void **state)
{
	struct disk_usage u;

	(void)state;
	dig(300);
	assert_int_equal(mkdir("e", 0700) + chdir("e"), 0);
	dig(100);
	u = measure(ENTRIES);
	assert_true(u.whole);
	assert_int_equal(ENTRIES - u.entries, 300 + 60 + 1 + 100 + 20);
	assert_true(u.bytes >= 80 * FILE_BYTES);
}

static void
a_tree_without_end_ends(void **state)
{
	(void)state;
	dig(300);
	assert_false(measure(200).whole);
}

/* Any process can stand for a cell here; only unnamed open files count. */
static void
open_files_without_a_name_are_found(void **state)
{
	struct disk_usage u = { .whole = true,
		.entries = ENTRIES,
		.until = clock_ms() + PATIENCE_MS };
	int ready[2], stop[2], fd;
	struct stat st;
	pid_t cell;
	char c;

	(void)state;
	assert_int_equal(pipe(ready) + pipe(stop), 0);
	put("a");
	cell = fork();
	if (cell == 0) {
		pid_t wrapper;

		close(stop[1]); /* all children end with the test */
		/* the first child stands for the wrapper, two share the file */
		wrapper = fork();
		if (wrapper > 0 && fork() == 0) {
			fd = open("a", O_RDONLY);
			(void)fork();
			(void)!write(ready[1], "x", fd >= 0);
		}
		(void)!read(stop[0], &c, 1);
		_exit(0);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	assert_int_equal(read(ready[0], &c, 1), 1);
	assert_int_equal(unlink("a"), 0);
	assert_int_equal(stat(dir, &st), 0);
	disk_usage_unlinked(cell, st.st_dev, st.st_dev, &u);
	assert_true(u.whole);
	assert_true(u.bytes >= FILE_BYTES && u.bytes < 2 * FILE_BYTES);
	close(stop[1]);
	assert_int_equal(waitpid(cell, NULL, 0), cell);
}

/* The file has neither a name nor a descriptor: only a mapping keeps it. */
static void
a_file_that_is_only_mapped_is_not_overlooked(void **state)
{
	struct disk_usage u = { .whole = true,
		.entries = ENTRIES,
		.until = clock_ms() + PATIENCE_MS };
	int ready[2], stop[2];
	struct stat st;
	pid_t cell;
	char c;

	(void)state;
	assert_int_equal(pipe(ready) + pipe(stop), 0);
	put("a");
	cell = fork();
	if (cell == 0) {
		close(stop[1]);
		if (fork() > 0 && fork() == 0) {
			int fd = open("a", O_RDWR);
			const void *m = mmap(NULL, FILE_BYTES,
			    PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

			close(fd);
			(void)!write(ready[1], "x", m != MAP_FAILED);
		}
		(void)!read(stop[0], &c, 1);
		_exit(0);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	assert_int_equal(stat(dir, &st), 0);
	disk_usage_unlinked(cell, st.st_dev, st.st_dev, &u);
	assert_true(u.whole); /* the file has a name */
	assert_int_equal(unlink("a"), 0);
	disk_usage_unlinked(cell, st.st_dev + 1, st.st_dev + 1, &u);
	assert_true(u.whole); /* the file is on another disk */
	disk_usage_unlinked(cell, st.st_dev, st.st_dev, &u);
	assert_false(u.whole);
	close(stop[1]);
	assert_int_equal(waitpid(cell, NULL, 0), cell);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(files_in_all_depths_are_counted,
		    enter, leave),
		cmocka_unit_test_setup_teardown(no_symlink_is_followed, enter,
		    leave),
		cmocka_unit_test_setup_teardown(a_fifo_holds_nobody_up, enter,
		    leave),
		cmocka_unit_test_setup_teardown(
		    a_file_with_two_names_counts_once, enter, leave),
		cmocka_unit_test_setup_teardown(
		    an_inode_costs_something_however_empty, enter, leave),
		cmocka_unit_test_setup_teardown(
		    a_file_that_is_only_mapped_is_not_overlooked, enter, leave),
		cmocka_unit_test_setup_teardown(what_was_not_seen_is_said,
		    enter, leave),
		cmocka_unit_test_setup_teardown(depth_hides_nothing, enter,
		    leave),
		cmocka_unit_test_setup_teardown(a_tree_without_end_ends, enter,
		    leave),
		cmocka_unit_test_setup_teardown(
		    open_files_without_a_name_are_found, enter, leave),
	};

	return cmocka_run_group_tests_name("usage", tests, NULL, NULL);
}
