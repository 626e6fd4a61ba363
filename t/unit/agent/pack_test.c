/* pack_test.c: tests making archives and unpacking them, each in a process. */
#include "../tree.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#include "agent/archive/pack.h"
#include "agent/files/tree.h"
#include "common/json.h"
#include "common/mem.h"
#include "common/str.h"

static void
put(const char *path, const char *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	close(fd);
}

static size_t
get(const char *path, char *to, size_t max)
{
	int fd = open(path, O_RDONLY);
	ssize_t n;

	assert_true(fd >= 0);
	n = read(fd, to, max - 1);
	close(fd);
	assert_true(n >= 0);
	to[n] = '\0';
	return (size_t)n;
}

static int64_t bytes_max; /* for `receive` */

static int
work(const char *how)
{
	if (how == NULL)
		return unpack_main();
	if (str_equal(how, "keep"))
		return snapshot_export_main();
	if (str_equal(how, "receive"))
		return receive_main(bytes_max, 60);
	return pack_main(how, ".");
}

/* The exit code of one run; format NULL: unpack; also "keep" and "receive". */
static int
run(const char *format, const char *in, const char *out, const char *where)
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		if (freopen(in, "r", stdin) == NULL ||
		    freopen(out, "w", stdout) == NULL ||
		    freopen("said", "w", stderr) == NULL || chdir(where) < 0)
			_exit(99);
		exit(work(format));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static json_t *
take_apart(const char *how, const char *archive, int status)
{
	struct err e = { 0 };
	char text[4096];
	json_t *said;
	size_t n;

	assert_int_equal(run(how, archive, "report", "to"), status);
	n = get("report", text, sizeof(text));
	assert_int_equal(json_parse(text, n, &said, &e), 0);
	return said;
}

static json_t *
unpack(const char *archive, int status)
{
	return take_apart(NULL, archive, status);
}

static int64_t
number(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

static void
make_source(void)
{
	struct err e = { 0 };

	if (access("from", F_OK) == 0)
		assert_int_equal(tree_remove("from", &e), 0);
	if (access("to", F_OK) == 0)
		assert_int_equal(tree_remove("to", &e), 0);
	assert_int_equal(mkdir("from", 0755), 0);
	assert_int_equal(mkdir("from/sub", 0755), 0);
	assert_int_equal(mkdir("to", 0755), 0);
	put("from/a", "hello", 5);
	assert_int_equal(link("from/a", "from/sub/hard"), 0);
	assert_int_equal(symlink("../a", "from/sub/link"), 0);
	put("from/sub/empty", "", 0);
	put("from/n\xc3\xa4me\n", "x", 1);
}

static void
there_and_back(void **state)
{
	static const char *const FORMATS[] = { "tar", "tar.gz", "tar.zst" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(FORMATS); i++) {
		auto_json json_t *said = NULL;
		struct stat one, two;
		char text[64];

		make_source();
		assert_int_equal(run(FORMATS[i], "/dev/null", "x", "from"), 0);
		said = unpack("x", 0);
		assert_int_equal(number(said, "entries"), 6);
		assert_int_equal(number(said, "bytes"), 6);
		get("to/a", text, sizeof(text));
		assert_string_equal(text, "hello");
		assert_int_equal(stat("to/a", &one), 0);
		assert_int_equal(stat("to/sub/hard", &two), 0);
		assert_int_equal(one.st_ino, two.st_ino);
		assert_int_equal(readlink("to/sub/link", text, 64), 4);
		assert_int_equal(access("to/n\xc3\xa4me\n", F_OK), 0);
	}
	assert_int_equal(run("zip", "/dev/null", "x", "from"), 1);
}

/* An archive that is cut anywhere is reported, never taken for a whole one. */
static void
what_is_cut_off_is_told(void **state)
{
	static const char *const FORMATS[] = { "tar.gz", "tar.zst" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(FORMATS); i++) {
		char data[4096];
		size_t len;

		make_source();
		assert_int_equal(run(FORMATS[i], "/dev/null", "x", "from"), 0);
		len = get("x", data, sizeof(data));
		for (size_t cut = 1; cut < len; cut += 7) {
			auto_json json_t *said = NULL;

			put("y", data, cut);
			said = unpack("y", 1);
			assert_int_equal(number(said, "errno"), 0);
			assert_true(json_str(said, "message")[0] != '\0');
		}
	}
}

/* Any wrong byte gives a normal exit code, never a crash. */
static void
any_byte_may_be_wrong(void **state)
{
	char data[16384];
	size_t len;

	(void)state;
	make_source();
	assert_int_equal(run("tar", "/dev/null", "x", "from"), 0);
	len = get("x", data, sizeof(data));
	for (size_t at = 0; at < len; at += 61) {
		char was = data[at];
		int status;

		data[at] = (char)~was;
		put("y", data, len);
		data[at] = was;
		status = run(NULL, "y", "report", "to");
		assert_true(status == 0 || status == 1);
	}
}

/* An error of the disk is reported with its errno. */
static void
a_full_disk_is_told(void **state)
{
	static const char *const FORMATS[] = { "tar", "tar.gz", "tar.zst",
		"dense" };

	(void)state;
	make_source();
	for (size_t i = 0; i < ARRAY_LEN(FORMATS); i++) {
		auto_json json_t *said = NULL;
		struct err e = { 0 };
		char text[4096];
		size_t n;

		assert_int_equal(
		    run(FORMATS[i], "/dev/null", "/dev/full", "from"), 1);
		n = get("said", text, sizeof(text));
		assert_int_equal(json_parse(text, n, &said, &e), 0);
		assert_int_equal(number(said, "errno"), ENOSPC);
	}
}

static void
make_session(void)
{
	make_source();
	assert_int_equal(mkdir("from/workspace", 0750), 0);
	assert_int_equal(mkdir("from/home", 0755), 0);
	assert_int_equal(mkdir("from/home/user", 0700), 0);
	assert_int_equal(mkdir("from/home/user/.local", 0700), 0);
	assert_int_equal(mkdir("from/home/user/.local/state", 0700), 0);
	assert_int_equal(mkdir("from/home/user/.local/state/sandlease", 0700),
	    0);
	put("from/home/user/.local/state/sandlease/ours", "x", 1);
	put("from/workspace/.sl-aaaaaaaaaaaaaaaa~", "draft", 5);
	assert_int_equal(mkdir("from/home/user/.sl-aaaaaaaaaaaaaaaa", 0700), 0);
	put("from/home/user/.sl-aaaaaaaaaaaaaaaa/staged", "x", 1);
	put("from/workspace/f", "text", 4);
	assert_int_equal(chmod("from/workspace/f", 0666), 0);
	assert_int_equal(mkfifo("from/workspace/fifo", 0600), 0);
	bytes_max = 1 << 20;
}

static void
what_is_kept_is_received_as_it_was(void **state)
{
	static const struct timespec WHEN[2] = { { 1, 2 }, { 3, 456789 } };
	auto_json json_t *said = NULL;
	struct stat st;

	(void)state;
	make_session();
	assert_int_equal(utimensat(AT_FDCWD, "from/workspace/f", WHEN, 0), 0);
	assert_int_equal(run("keep", "/dev/null", "x", "from"), 0);
	said = take_apart("receive", "x", 0);
	/*
	 * workspace, f, home/user, .local and state, but no mark, no fifo and
	 * no temporary file
	 */
	assert_int_equal(number(said, "entries"), 5);
	assert_int_equal(number(said, "bytes"), 4);
	assert_int_equal(stat("to/workspace/f", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0666);
	assert_int_equal(st.st_mtim.tv_sec, 3);
	assert_int_equal(st.st_mtim.tv_nsec, 456789);
	assert_int_equal(stat("to/workspace", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0750);
	assert_int_equal(access("to/a", F_OK), -1);
	assert_int_equal(access("to/" PACK_MARK, F_OK), -1);
	assert_int_equal(access("to/home/user/.local/state/sandlease", F_OK),
	    -1);
}

static void
a_part_is_never_taken_for_the_whole(void **state)
{
	char data[32768];
	size_t len;

	(void)state;
	make_session();
	assert_int_equal(run("keep", "/dev/null", "x", "from"), 0);
	len = get("x", data, sizeof(data));
	/* the mark's header is the last block that matters; then come zeros */
	for (size_t cut = 0; cut + 3 * 512 < len; cut += 512) {
		auto_json json_t *said = NULL;

		put("y", data, cut);
		said = take_apart("receive", "y", 1);
		assert_int_equal(number(said, "errno"), 0);
		assert_true(json_str(said, "message")[0] != '\0');
	}
}

static void
more_than_there_is_room_for_is_refused(void **state)
{
	static char large[64 * 1024];

	(void)state;
	make_session();
	memset(large, 'x', sizeof(large));
	put("from/workspace/large", large, sizeof(large));
	assert_int_equal(run("keep", "/dev/null", "x", "from"), 0);
	for (bytes_max = 4096; bytes_max <= 128 * 1024; bytes_max *= 2) {
		bool fits = bytes_max == 128 * 1024;
		auto_json json_t *said =
		    take_apart("receive", "x", fits ? 0 : 1);

		assert_int_equal(number(said, "errno"), fits ? 0 : ENOSPC);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_and_back),
		cmocka_unit_test(what_is_cut_off_is_told),
		cmocka_unit_test(any_byte_may_be_wrong),
		cmocka_unit_test(a_full_disk_is_told),
		cmocka_unit_test(what_is_kept_is_received_as_it_was),
		cmocka_unit_test(a_part_is_never_taken_for_the_whole),
		cmocka_unit_test(more_than_there_is_room_for_is_refused),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
