/* view_test.c: tests opening a file whose content becomes an answer. */
#include "../tree.h"

#include <string.h>
#include <sys/prctl.h>

#include "agent/files/view.h"
#include "common/mem.h"

static void
put(const char *name, const char *data, size_t len)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_int_equal(write(fd, data, len), len);
	close(fd);
}

static bool
go_on(void *ctx)
{
	(void)ctx;
	return true;
}

static bool
give_up(void *ctx)
{
	(void)ctx;
	return false;
}

static void
text_is_what_is_utf8_to_its_last_byte(void **state)
{
	static const struct {
		const char *name, *data;
		bool text;
	} CASES[] = {
		{ "a.txt", "h\xc3\xa9llo", true },
		{ "b.txt", "h\xe9llo", false },
		{ "c.txt", "cut \xe2\x82", false },
		{ "d.png", "text really", false },
		{ "e", "text really", true },
		{ "f", "", true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		auto_view struct view v = { .fd = -1 };
		struct err e = { 0 };

		put(CASES[i].name, CASES[i].data, strlen(CASES[i].data));
		assert_int_equal(view_open(CASES[i].name, &v, &e), 0);
		assert_int_equal(view_is_text(&v, go_on, NULL), CASES[i].text);
	}
}

static void
a_late_byte_makes_a_text_none(void **state)
{
	auto_free char *large = xmalloc(300000);
	auto_view struct view v = { .fd = -1 };
	struct err e = { 0 };
	const char *data;

	(void)state;
	memset(large, 'x', 300000);
	large[299999] = '\xff';
	put("late.txt", large, 300000);
	assert_int_equal(view_open("late.txt", &v, &e), 0);
	assert_false(view_is_text(&v, go_on, NULL));
	put("late.txt", large, 299999);
	view_close(&v);
	assert_int_equal(view_open("late.txt", &v, &e), 0);
	assert_true(view_is_text(&v, go_on, NULL));
	assert_false(view_is_text(&v, give_up, NULL));
	{
		auto_blocks struct blocks b = view_blocks(&v, true);

		assert_int_equal(blocks_next(&b, &data), BLOCKS_BYTES);
		assert_int_equal(data[0], 'x');
	}
}

static void
sizes_are_settled(void **state)
{
	static const struct {
		const char *path;
		int64_t max, size;
		enum err_code code;
	} CASES[] = {
		{ "ten", 10, 10, CODE_NONE },
		{ "ten", 9, 10, CODE_FILE_TOO_LARGE },
		{ "none", 9, 0, CODE_FILE_NOT_FOUND },
		{ ".", 9, 0, CODE_IS_DIRECTORY },
		{ "fifo", 9, 0, CODE_NONE },
		{ "/dev/null", 9, 0, CODE_NONE },
		{ "/proc/self/comm", 100, 10, CODE_NONE },
		{ "/proc/self/comm", 5, 10, CODE_FILE_TOO_LARGE },
	};

	(void)state;
	prctl(PR_SET_NAME, "view-test"); /* /proc/self/comm has 10 bytes */
	put("ten", "0123456789", 10);
	assert_int_equal(mkfifo("fifo", 0600), 0);
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		auto_view struct view v = { .fd = -1 };
		struct err e = { 0 };
		int rc = view_open(CASES[i].path, &v, &e);

		if (rc == 0)
			rc = view_settle(CASES[i].path, CASES[i].max, &v, &e);
		assert_int_equal(rc, CASES[i].code == CODE_NONE ? 0 : -1);
		if (rc < 0)
			assert_code(e.code, CASES[i].code);
		else
			assert_true(v.regular);
		assert_int_equal(v.size, CASES[i].size);
	}
}

static void
a_device_without_end_is_too_large(void **state)
{
	auto_view struct view v = { .fd = -1 };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(view_open("/dev/zero", &v, &e), 0);
	assert_int_equal(view_settle("/dev/zero", 1000000, &v, &e), -1);
	assert_code(e.code, CODE_FILE_TOO_LARGE);
	assert_true(v.size > 1000000 && v.size < 1000000 + 2 * BLOCKS_BYTES);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_what_is_utf8_to_its_last_byte),
		cmocka_unit_test(a_late_byte_makes_a_text_none),
		cmocka_unit_test(sizes_are_settled),
		cmocka_unit_test(a_device_without_end_is_too_large),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
