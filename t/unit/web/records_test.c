/* records_test.c: tests FastCGI records in every portion they can come in. */
#include "../unit.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "web/records.h"

/* Shows pieces as text: "type/id:content", with "." where a record ends. */
static int
show(struct records *r, const char *data, size_t len, struct buf *out)
{
	struct records_piece p;
	int rc;

	while ((rc = records_next(r, &data, &len, &p)) > 0) {
		if (p.len > 0)
			buf_add(out, p.data, p.len);
		if (p.last)
			buf_fmt(out, "<%d/%d>", p.type, p.id);
	}
	assert_true(rc < 0 || len == 0);
	return rc;
}

static void
make_request(struct buf *b)
{
	static const unsigned char PADDED[] = { 1, RECORDS_STDOUT, 0, 7, 0, 3,
		2, 0, 'a', 'b', 'c', 0xff, 0xff };
	static const unsigned char EMPTY_PADDED[] = { 1, RECORDS_STDOUT, 1, 2,
		0, 0, 1, 0, 0xff };

	records_add(b, RECORDS_PARAMS, 258, "params", 6);
	records_add(b, RECORDS_PARAMS, 258, "", 0);
	buf_add(b, PADDED, sizeof(PADDED));
	buf_add(b, EMPTY_PADDED, sizeof(EMPTY_PADDED));
	records_end(b, 1);
}

static const char SHOWN[] = "params<4/258><4/258>abc<6/7><6/258>";

static void
every_split_gives_the_same_records(void **state)
{
	auto_buf struct buf in = { 0 };

	(void)state;
	make_request(&in);
	for (size_t i = 0; i <= in.len; i++) {
		for (size_t j = i; j <= in.len; j++) {
			auto_buf struct buf seen = { 0 };
			struct records r = { 0 };

			assert_int_equal(show(&r, in.data, i, &seen), 0);
			assert_int_equal(show(&r, in.data + i, j - i, &seen),
			    0);
			assert_int_equal(
			    show(&r, in.data + j, in.len - j, &seen), 0);
			assert_memory_equal(seen.data, SHOWN,
			    sizeof(SHOWN) - 1);
			assert_string_equal(seen.data + seen.len - 5, "<3/1>");
		}
	}
}

static void
byte_by_byte_is_a_split_too(void **state)
{
	auto_buf struct buf in = { 0 };
	auto_buf struct buf seen = { 0 };
	struct records r = { 0 };

	(void)state;
	make_request(&in);
	for (size_t i = 0; i < in.len; i++)
		assert_int_equal(show(&r, in.data + i, 1, &seen), 0);
	assert_memory_equal(seen.data, SHOWN, sizeof(SHOWN) - 1);
}

static void
what_is_not_fastcgi_is_refused(void **state)
{
	auto_buf struct buf seen = { 0 };
	struct records r = { 0 };

	(void)state;
	assert_int_equal(show(&r, "GET / HTTP/1.1\r\n", 16, &seen), -1);
	assert_int_equal(seen.len, 0);
}

static void
any_bytes_are_taken_without_harm(void **state)
{
	auto_free char *noise = xmalloc(300000);
	unsigned seed = 1;

	(void)state;
	for (size_t i = 0; i < 300000; i++)
		noise[i] = (char)(rand_r(&seed) >> 4);
	for (size_t at = 0; at < 4096; at++) {
		struct records r = { .header = { 1 } };
		const char *data = noise + at;
		struct records_piece p;
		size_t len = 4096, total = 0;

		r.have = 1; /* the version is right, the rest is noise */
		while (records_next(&r, &data, &len, &p) > 0) {
			assert_true(p.data + p.len <= noise + at + 4096);
			total += p.len;
		}
		assert_true(total <= 4096);
	}
}

static void
long_content_is_several_records(void **state)
{
	auto_buf struct buf out = { 0 };
	auto_free char *data = xcalloc(1, 150000);
	struct records r = { 0 };
	struct records_piece p;
	const char *at;
	size_t len, total = 0, count = 0;

	(void)state;
	records_add(&out, RECORDS_STDIN, 1, data, 150000);
	at = out.data;
	len = out.len;
	while (records_next(&r, &at, &len, &p) > 0) {
		assert_int_equal(p.type, RECORDS_STDIN);
		assert_true(p.len > 0);
		total += p.len;
		count++;
	}
	assert_int_equal(total, 150000);
	assert_int_equal(count, 3);
}

static void
a_request_begins_as_a_responders(void **state)
{
	static const unsigned char WANT[] = { 1, 1, 0, 5, 0, 8, 0, 0, 0, 1, 0,
		0, 0, 0, 0, 0 };
	auto_buf struct buf out = { 0 };

	(void)state;
	records_begin(&out, 5);
	assert_int_equal(out.len, sizeof(WANT));
	assert_memory_equal(out.data, WANT, sizeof(WANT));
}

/* ---- parameters */

static void
add_length(struct buf *b, size_t n)
{
	const unsigned char large[] = { (unsigned char)(n >> 24 | 0x80),
		(unsigned char)(n >> 16), (unsigned char)(n >> 8),
		(unsigned char)n };
	unsigned char small = (unsigned char)n;

	if (n < 128)
		buf_add(b, &small, 1);
	else
		buf_add(b, large, sizeof(large));
}

static void
add_param(struct buf *b, const char *name, const char *value)
{
	add_length(b, strlen(name));
	add_length(b, strlen(value));
	buf_str(b, name);
	buf_str(b, value);
}

static void
a_parameter_is_found_among_others(void **state)
{
	auto_buf struct buf b = { 0 };
	auto_free char *large = xcalloc(1, 301);
	struct records_param p;
	size_t at;

	(void)state;
	memset(large, 'x', 300);
	add_param(&b, "EMPTY", "");
	add_param(&b, "LARGE", large);
	at = b.len;
	add_param(&b, "SL_TARGET", "unix:/x");
	add_param(&b, large, "y");
	assert_true(records_param(&b, "SL_TARGET", &p));
	assert_int_equal(p.at, at);
	assert_int_equal(p.size, 2 + 9 + 7);
	assert_int_equal(p.len, 7);
	assert_memory_equal(p.value, "unix:/x", 7);
	assert_true(records_param(&b, "LARGE", &p));
	assert_int_equal(p.len, 300);
	assert_true(records_param(&b, "EMPTY", &p));
	assert_int_equal(p.len, 0);
	assert_true(records_param(&b, large, &p));
	assert_false(records_param(&b, "SL_TARGE", &p));
	assert_false(records_param(&b, "", &p));
}

static void
parameters_that_are_cut_off_hold_nothing_more(void **state)
{
	auto_buf struct buf b = { 0 };
	struct records_param p;
	size_t whole;

	(void)state;
	add_param(&b, "A", "1");
	add_param(&b, "SL_TARGET", "unix:/x");
	whole = b.len;
	for (b.len = 0; b.len < whole; b.len++)
		assert_false(records_param(&b, "SL_TARGET", &p));
	b.len = whole;
	assert_true(records_param(&b, "SL_TARGET", &p));
	/* lengths beyond any limit */
	b.len = 0;
	buf_add(&b, "\xff\xff\xff\xff\xff\xff\xff\xffSL_TARGET", 17);
	assert_false(records_param(&b, "SL_TARGET", &p));
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
		cmocka_unit_test(every_split_gives_the_same_records),
		cmocka_unit_test(byte_by_byte_is_a_split_too),
		cmocka_unit_test(what_is_not_fastcgi_is_refused),
		cmocka_unit_test(any_bytes_are_taken_without_harm),
		cmocka_unit_test(long_content_is_several_records),
		cmocka_unit_test(a_request_begins_as_a_responders),
		cmocka_unit_test(a_parameter_is_found_among_others),
		cmocka_unit_test(parameters_that_are_cut_off_hold_nothing_more),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
