/* blocks_test.c: tests that a file is read piece by piece. */
#include "../unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/files/blocks.h"
#include "common/mem.h"
#include "common/str.h"
#include "common/utf8.h"

static int
file_of(const char *unit, size_t count)
{
	int fd = memfd_create("blocks", MFD_CLOEXEC);
	auto_buf struct buf all = { 0 };

	for (size_t i = 0; i < count; i++)
		buf_str(&all, unit);
	assert_int_equal(write(fd, all.data, all.len), all.len);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static void
text_is_never_cut_within_a_character(void **state)
{
	static const char *const UNITS[] = { "x", "\xc3\xa9", "\xe2\x82\xac",
		"\xf0\x9f\x98\x80", "a\xc3\xa9\xe2\x82\xac" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(UNITS); i++) {
		auto_fd int fd = file_of(UNITS[i], 100000);
		auto_blocks struct blocks b = { .fd = fd,
			.text = true,
			.left = INT64_MAX };
		auto_buf struct buf all = { 0 };
		const char *data;
		ssize_t n;

		while ((n = blocks_next(&b, &data)) > 0) {
			assert_true(n <= BLOCKS_BYTES);
			assert_true(utf8_valid(data, (size_t)n));
			buf_add(&all, data, (size_t)n);
		}
		assert_int_equal(n, 0);
		assert_int_equal(all.len, 100000 * strlen(UNITS[i]));
		for (size_t k = 0; k < all.len; k += strlen(UNITS[i]))
			assert_memory_equal(all.data + k, UNITS[i],
			    strlen(UNITS[i]));
	}
}

static void
what_never_was_text_comes_to_its_end_too(void **state)
{
	auto_fd int fd = file_of("\xf0\x9f\x98", 50001);
	auto_blocks struct blocks b = { .fd = fd,
		.text = true,
		.left = INT64_MAX };
	const char *data;
	ssize_t n, total = 0;

	(void)state;
	while ((n = blocks_next(&b, &data)) > 0)
		total += n;
	assert_int_equal(total, 3 * 50001);
}

static void
bytes_come_in_threes(void **state)
{
	auto_fd int fd = file_of("0123456789", 20000);
	auto_blocks struct blocks b = { .fd = fd, .left = 150001 };
	const char *data;
	ssize_t n;

	(void)state;
	assert_int_equal(blocks_next(&b, &data), BLOCKS_BYTES);
	assert_memory_equal(data, "012345", 6);
	assert_int_equal(blocks_next(&b, &data), BLOCKS_BYTES);
	assert_memory_equal(data, "567890", 6);
	n = blocks_next(&b, &data);
	assert_int_equal(n, 150001 - 2 * BLOCKS_BYTES);
	assert_int_equal(blocks_next(&b, &data), 0);
}

static void
a_pipe_gives_what_it_has(void **state)
{
	int ends[2];
	const char *data;

	(void)state;
	assert_int_equal(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
	{
		auto_blocks struct blocks b = { .fd = ends[0],
			.left = INT64_MAX };

		assert_int_equal(blocks_next(&b, &data), -1);
		assert_int_equal(errno, EAGAIN);
		assert_int_equal(write(ends[1], "ab", 2), 2);
		assert_int_equal(blocks_next(&b, &data), -1);
		assert_int_equal(errno, EAGAIN);
		assert_int_equal(write(ends[1], "cd", 2), 2);
		assert_int_equal(blocks_next(&b, &data), 3);
		assert_memory_equal(data, "abc", 3);
		close(ends[1]);
		assert_int_equal(blocks_next(&b, &data), 1);
		assert_memory_equal(data, "d", 1);
		assert_int_equal(blocks_next(&b, &data), 0);
	}
	close(ends[0]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_never_cut_within_a_character),
		cmocka_unit_test(what_never_was_text_comes_to_its_end_too),
		cmocka_unit_test(bytes_come_in_threes),
		cmocka_unit_test(a_pipe_gives_what_it_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
