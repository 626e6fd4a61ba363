/* ring_test.c: tests the newest output of a process in a bounded file. */
#include "t/unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/ring.h"
#include "common/mem.h"
#include "common/str.h"
#include "common/utf8.h"

static char path[64];

static int
begin(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "/tmp/ring_test.%d", (int)getpid());
	return 0;
}

static int
end(void **state)
{
	(void)state;
	unlink(path);
	return 0;
}

static void
create(struct ring *r)
{
	struct err e;

	assert_int_equal(ring_create(r, path, &e), 0);
}

static void
add(struct ring *r, enum ring_stream which, const char *text)
{
	ring_append(r, which, text, strlen(text));
}

/* Prints all runs from `offset` on, as "o:abc e:x ". */
static void
show(const struct ring *r, int64_t offset, struct buf *out)
{
	auto_free struct ring_block *b = xmalloc(sizeof(*b));

	out->len = 0;
	buf_str(out, "");
	while (ring_read(r, offset, b)) {
		for (size_t at = 0, n; at < b->len; at += n) {
			enum ring_stream which;

			n = ring_run(b, at, &which);
			buf_str(out, which == RING_STDERR ? "e:" : "o:");
			buf_add(out, b->data + at, n);
			buf_str(out, " ");
		}
		offset = b->offset + (int64_t)b->len;
	}
}

static void
output_is_kept_in_order_and_by_stream(void **state)
{
	static const struct {
		int64_t offset;
		const char *seen;
	} CASES[] = {
		{ 0, "o:abc e:x o:d e:yz " },
		{ 1, "o:bc e:x o:d e:yz " },
		{ 3, "e:x o:d e:yz " },
		{ 6, "e:z " },
		{ 7, "" },
		{ 1000, "" },
	};
	auto_buf struct buf out = { 0 };
	struct ring r;

	(void)state;
	create(&r);
	add(&r, RING_STDOUT, "ab");
	add(&r, RING_STDOUT, "c");
	add(&r, RING_STDERR, "x");
	add(&r, RING_STDOUT, "d");
	add(&r, RING_STDERR, "yz");
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		show(&r, CASES[i].offset, &out);
		assert_string_equal(out.data, CASES[i].seen);
	}
	ring_close(&r);
}

/* The byte that belongs at `offset`, and its stream. */
static char
byte_at(int64_t offset)
{
	return (char)('a' + offset * 7 / 5 % 26);
}

static enum ring_stream
stream_of(int64_t offset)
{
	return offset / 13 % 3 == 1 ? RING_STDERR : RING_STDOUT;
}

static void
fill(struct ring *r, int64_t from, int64_t to)
{
	char piece[13];

	while (from < to) {
		size_t n = 0;
		enum ring_stream which = stream_of(from);

		while (from + (int64_t)n < to && n < sizeof(piece) &&
		    stream_of(from + (int64_t)n) == which) {
			piece[n] = byte_at(from + (int64_t)n);
			n++;
		}
		ring_append(r, which, piece, n);
		from += (int64_t)n;
	}
}

static void
check(const struct ring *r, int64_t from, int64_t to)
{
	auto_free struct ring_block *b = xmalloc(sizeof(*b));

	while (ring_read(r, from, b)) {
		assert_int_equal(b->offset, from);
		for (size_t at = 0, n; at < b->len; at += n) {
			enum ring_stream which;

			n = ring_run(b, at, &which);
			for (size_t i = at; i < at + n; i++) {
				int64_t o = b->offset + (int64_t)i;

				if (b->data[i] != byte_at(o) ||
				    which != stream_of(o))
					fail_msg("byte %lld", (long long)o);
			}
		}
		from += (int64_t)b->len;
	}
	assert_int_equal(from, to);
}

static void
the_newest_are_kept_and_offsets_go_on(void **state)
{
	const int64_t total = RING_BYTES + RING_BYTES / 2 + 12345;
	auto_free struct ring_block *b = xmalloc(sizeof(*b));
	struct ring r;

	(void)state;
	create(&r);
	fill(&r, 0, 1000);
	check(&r, 0, 1000);
	fill(&r, 1000, total);
	assert_int_equal(atomic_load(&r.total), total);
	assert_in_range(ring_first(&r), total - RING_BYTES,
	    total - RING_BYTES + 8);
	check(&r, ring_first(&r), total);
	/* a reader that asks for overwritten bytes gets those that are left */
	assert_true(ring_read(&r, 0, b));
	assert_int_equal(b->offset, ring_first(&r));
	ring_close(&r);
}

static void
a_large_piece_wraps_around(void **state)
{
	const size_t len = 2 * RING_BYTES + 17;
	auto_free char *all = xmalloc(len);
	auto_free struct ring_block *b = xmalloc(sizeof(*b));
	int64_t at;
	struct ring r;

	(void)state;
	for (size_t i = 0; i < len; i++)
		all[i] = byte_at((int64_t)i);
	create(&r);
	ring_append(&r, RING_STDERR, all, len);
	at = ring_first(&r);
	while (ring_read(&r, at, b)) {
		enum ring_stream which;

		assert_int_equal(ring_run(b, 0, &which), b->len);
		assert_int_equal(which, RING_STDERR);
		assert_memory_equal(b->data, all + b->offset, b->len);
		at = b->offset + (int64_t)b->len;
	}
	assert_int_equal(at, len);
	ring_close(&r);
}

static void
a_block_ends_between_characters(void **state)
{
	auto_buf struct buf text = { 0 };
	auto_free struct ring_block *b = xmalloc(sizeof(*b));
	int64_t at = 1;
	size_t blocks = 0;
	struct ring r;

	(void)state;
	while (text.len < 5 * RING_BLOCK)
		buf_str(&text, "\xe2\x82\xac");
	create(&r);
	add(&r, RING_STDERR, "!");
	ring_append(&r, RING_STDOUT, text.data, text.len);
	for (; ring_read(&r, at, b); blocks++) {
		assert_int_equal(utf8_whole(b->data, b->len), b->len);
		at = b->offset + (int64_t)b->len;
	}
	assert_int_equal(at, 1 + text.len);
	assert_true(blocks >= 5);
	ring_close(&r);
}

static void
it_is_found_again(void **state)
{
	const int64_t total = RING_BYTES + 4321;
	struct ring r;
	struct err e;

	(void)state;
	create(&r);
	fill(&r, 0, total);
	ring_close(&r);
	assert_int_equal(ring_open(&r, path, &e), 0);
	assert_int_equal(atomic_load(&r.total), total);
	check(&r, ring_first(&r), total);
	ring_close(&r);
}

static void
a_disk_that_takes_nothing_costs_only_the_output(void **state)
{
	auto_buf struct buf out = { 0 };
	struct ring r;
	int full = open("/dev/full", O_RDWR | O_CLOEXEC), file;

	(void)state;
	create(&r);
	add(&r, RING_STDERR, "kept");
	file = r.fd;
	r.fd = full;
	add(&r, RING_STDOUT, "lost by the disk");
	r.fd = file;
	add(&r, RING_STDOUT, "and on");
	assert_int_equal(atomic_load(&r.lost), 16);
	show(&r, 0, &out);
	assert_string_equal(out.data, "e:kept o:and on ");
	ring_close(&r);
	add(&r, RING_STDOUT, "nowhere");
	assert_int_equal(atomic_load(&r.lost), 23);
	close(full);
}

static void
a_file_that_somebody_changed_is_harmless(void **state)
{
	static const int64_t HEADS[] = { -1, INT64_MAX, INT64_MIN };
	auto_buf struct buf out = { 0 };
	struct ring r;
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(HEADS); i++) {
		create(&r);
		add(&r, RING_STDOUT, "x");
		assert_int_equal(pwrite(r.fd, &HEADS[i], 8, 8), 8);
		ring_close(&r);
		assert_int_equal(ring_open(&r, path, &e), -1);
	}
	create(&r);
	add(&r, RING_STDOUT, "cut while it is open");
	assert_int_equal(truncate(path, 0), 0);
	show(&r, 0, &out);
	assert_string_equal(out.data, "");
	ring_close(&r);
	create(&r);
	add(&r, RING_STDOUT, "seen by nobody");
	unlink(path);
	add(&r, RING_STDOUT, "lost");
	assert_int_equal(atomic_load(&r.lost), 4);
	show(&r, 0, &out);
	assert_string_equal(out.data, "");
	ring_close(&r);
	assert_int_equal(symlink("/dev/zero", path), 0);
	assert_int_equal(ring_open(&r, path, &e), -1);
	create(&r); /* a new file, not the target of the link */
	add(&r, RING_STDOUT, "y");
	ring_close(&r);
	assert_int_equal(ring_open(&r, path, &e), 0);
	ring_close(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(output_is_kept_in_order_and_by_stream),
		cmocka_unit_test(the_newest_are_kept_and_offsets_go_on),
		cmocka_unit_test(a_large_piece_wraps_around),
		cmocka_unit_test(a_block_ends_between_characters),
		cmocka_unit_test(it_is_found_again),
		cmocka_unit_test(
		    a_disk_that_takes_nothing_costs_only_the_output),
		cmocka_unit_test(a_file_that_somebody_changed_is_harmless),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
