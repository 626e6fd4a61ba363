/* call_test.c: tests one HTTP request and its answer. */
#include "../unit.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "fake_io.h"

static void
parameters_that_are_absent_are_empty(void **state)
{
	struct fake f = { .params = (const char *const[]){ "A", "1", NULL } };
	struct call c = fake_begin(&f, "GET", "/");

	(void)state;
	assert_string_equal(call_param(&c, "A"), "1");
	assert_string_equal(call_param(&c, "B"), "");
	fake_end(&f, &c);
}

static void
query_parameters_are_decoded(void **state)
{
	static const struct {
		const char *query, *want; /* NULL: absent; "!": refused */
	} CASES[] = {
		{ "q=1", "1" },
		{ "a=2&q=1", "1" },
		{ "q=1&q=2", "1" },
		{ "qq=1", NULL },
		{ "q", NULL },
		{ "", NULL },
		{ "a=q=1", NULL },
		{ "q=", "" },
		{ "q=a%20b+c", "a b c" },
		{ "q=%4a%4A", "JJ" },
		{ "q=%c3%bc", "\xc3\xbc" },
		{ "q==&a", "=" },
		{ "&&q=x&&", "x" },
		{ "q=%", "!" },
		{ "q=%4", "!" },
		{ "q=%zz", "!" },
		{ "q=%00", "!" },
		{ "q=%ff", "!" },
		{ "q=%c3", "!" },
		{ "q=%4&41", "!" },
		{ "q=12345678", "!" },
		{ "q=1234567", "1234567" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		const char *const params[] = { "QUERY_STRING", CASES[i].query,
			NULL };
		struct fake f = { .params = params };
		struct call c = fake_begin(&f, "GET", "/");
		const char *want = CASES[i].want;
		struct err e = { 0 };
		bool present = true;
		char out[8];
		int rc = call_query(&c, "q", out, sizeof(out), &present, &e);

		if (want == NULL) {
			assert_int_equal(rc, 0);
			assert_false(present);
		} else if (strcmp(want, "!") == 0) {
			assert_int_equal(rc, -1);
			assert_string_equal(e.field, "q");
		} else {
			assert_int_equal(rc, 0);
			assert_true(present);
			assert_string_equal(out, want);
		}
		fake_end(&f, &c);
	}
}

static void
numbers_of_the_query_have_bounds(void **state)
{
	static const struct {
		const char *query;
		int64_t want; /* 0: refused */
	} CASES[] = {
		{ "", 7 },
		{ "other=1", 7 },
		{ "n=1", 1 },
		{ "n=100", 100 },
		{ "n=0", 0 },
		{ "n=101", 0 },
		{ "n=-1", 0 },
		{ "n=1x", 0 },
		{ "n=", 0 },
		{ "n=99999999999999999999", 0 },
		{ "n=000000000000000000000000000001", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		const char *const params[] = { "QUERY_STRING", CASES[i].query,
			NULL };
		struct fake f = { .params = params };
		struct call c = fake_begin(&f, "GET", "/");
		struct err e = { 0 };
		int64_t n = 7;
		int rc = call_query_int(&c, "n", 1, 100, &n, &e);

		assert_int_equal(rc, CASES[i].want == 0 ? -1 : 0);
		if (rc < 0)
			assert_string_equal(e.field, "n");
		else
			assert_int_equal(n, CASES[i].want);
		fake_end(&f, &c);
	}
}

static void
words_of_queries_are_those_of_the_table(void **state)
{
	static const char *const WORDS[] = { "", "red", "green", NULL };
	static const struct {
		const char *query;
		const char *want; /* NULL: an error */
	} CASES[] = {
		{ "q=red", "red" },
		{ "q=green&q=x", "green" },
		{ "", "" },
		{ "q=", "" },
		{ "q=blue", NULL },
		{ "q=RED", NULL },
		{ "q=red%00", NULL },
		{ "q=reddest-of-all", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		const char *const params[] = { "QUERY_STRING", CASES[i].query,
			NULL };
		struct fake f = { .params = params };
		struct call c = fake_begin(&f, "GET", "/");
		struct err e = { 0 };
		char out[8];
		int rc = call_query_word(&c, "q", WORDS, out, sizeof(out), &e);

		if (CASES[i].want != NULL) {
			assert_int_equal(rc, 0);
			assert_string_equal(out, CASES[i].want);
		} else {
			assert_int_equal(rc, -1);
			assert_string_equal(e.field, "q");
			assert_non_null(
			    strstr(e.msg, "must be one of red, green"));
		}
		fake_end(&f, &c);
	}
}

/* ---- bodies */

enum { LIMIT = 10 };

static void
bodies_are_whole_or_refused(void **state)
{
	static const struct {
		const char *length, *body;
		bool cut;
		int status; /* 0: taken */
	} CASES[] = {
		{ NULL, "", false, 0 },
		{ NULL, "0123456789", false, 0 },
		{ NULL, "0123456789a", false, 413 },
		{ "", "0123", false, 0 },
		{ "4", "0123", false, 0 },
		{ "0", "", false, 0 },
		{ "11", "", false, 413 },
		{ "11", "0123", false, 413 },
		{ "999999999999999999", "", false, 413 },
		{ "-1", "", false, 400 },
		{ "4, 4", "0123", false, 400 },
		{ "99999999999999999999", "", false, 400 },
		/* a client that went away: its body is never complete */
		{ NULL, "0123", true, 400 },
		{ "8", "0123", true, 400 },
		/* plain CGI sees only the end of its input */
		{ "8", "0123", false, 400 },
		{ "8", "", false, 400 },
		/* all promised bytes have come, but not the end */
		{ "4", "0123", true, 400 },
		{ "3", "0123", false, 400 },
	};

	(void)state;
	for (size_t bite = 0; bite < 3; bite++)
		for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
			const char *const params[] = { "CONTENT_LENGTH",
				CASES[i].length, NULL };
			struct fake f = { .params = params,
				.body = CASES[i].body,
				.cut = CASES[i].cut,
				.bite = bite };
			struct call c = fake_begin(&f, "POST", "/");
			auto_buf struct buf got = { 0 };
			struct err e = { 0 };
			int rc = call_body(&c, LIMIT, &got, &e);

			if (CASES[i].status == 0) {
				assert_int_equal(rc, 0);
				assert_string_equal(got.data, CASES[i].body);
			} else {
				assert_int_equal(rc, -1);
				assert_int_equal(err_status(&e),
				    CASES[i].status);
			}
			fake_end(&f, &c);
		}
}

static void
a_body_of_any_size_comes_in_pieces(void **state)
{
	static const struct {
		const char *declared;
		bool cut;
		ssize_t last;
	} CASES[] = { { "7", false, 0 }, { "", false, 0 }, { "8", false, -1 },
		{ "7", true, -1 }, { "", true, -1 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		const char *params[] = { "CONTENT_LENGTH", CASES[i].declared,
			NULL };
		struct fake f = { .params = params,
			.body = "1234567",
			.cut = CASES[i].cut };
		struct call c = fake_begin(&f, "PUT", "/");
		struct err e = { 0 };
		char piece[4];

		assert_int_equal(call_read(&c, piece, 4, &e), 4);
		assert_int_equal(call_read(&c, piece, 4, &e), 3);
		assert_memory_equal(piece, "567", 3);
		assert_int_equal(call_read(&c, piece, 4, &e), CASES[i].last);
		if (CASES[i].last < 0)
			assert_code(e.code, CODE_BODY_INCOMPLETE);
		fake_end(&f, &c);
	}
}

static void
a_body_too_large_by_declaration_is_not_read(void **state)
{
	const char *const params[] = { "CONTENT_LENGTH", "11", NULL };
	struct fake f = { .params = params, .body = "0123456789a" };
	struct call c = fake_begin(&f, "POST", "/");
	auto_buf struct buf got = { 0 };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(call_body(&c, LIMIT, &got, &e), -1);
	assert_code(e.code, CODE_BODY_TOO_LARGE);
	assert_int_equal(f.body_at, 0);
	fake_end(&f, &c);
}

static void
an_empty_body_is_an_empty_object(void **state)
{
	struct fake f = { .body = "" };
	struct call c = fake_begin(&f, "POST", "/");
	auto_json json_t *v = NULL;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(call_json(&c, LIMIT, &v, &e), 0);
	assert_true(json_is_object(v));
	assert_int_equal(json_object_size(v), 0);
	fake_end(&f, &c);
}

static void
a_broken_body_is_a_bad_request(void **state)
{
	struct fake f = { .body = "{\"a\":" };
	struct call c = fake_begin(&f, "POST", "/");
	auto_json json_t *v = NULL;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(call_json(&c, LIMIT, &v, &e), -1);
	assert_int_equal(err_status(&e), 400);
	fake_end(&f, &c);
}

/* ---- answers */

static void
an_answer_has_status_headers_and_body(void **state)
{
	struct fake f = { 0 };
	struct call c = fake_begin(&f, "GET", "/");
	auto_json json_t *v = json_pack("{s:i}", "a", 1);

	(void)state;
	call_header(&c, "X-Extra", "yes");
	call_reply(&c, 201, v);
	assert_string_equal(f.out.data,
	    "Status: 201 Created\r\n"
	    "Content-Type: application/json\r\n"
	    "X-Request-Id: r1\r\n"
	    "X-Extra: yes\r\n"
	    "Content-Length: 7\r\n"
	    "\r\n"
	    "{\"a\":1}");
	assert_int_equal(c.status, 201);
	fake_end(&f, &c);
}

static void
head_gets_the_headers_of_get_alone(void **state)
{
	struct fake f = { 0 };
	struct call c = fake_begin(&f, "HEAD", "/");

	(void)state;
	call_reply_bytes(&c, 200, "text/plain", "body", 4);
	assert_non_null(strstr(f.out.data, "Content-Length: 4\r\n"));
	assert_string_equal(fake_answer_body(&f), "");
	fake_end(&f, &c);
}

static void
an_empty_answer_has_no_type(void **state)
{
	struct fake f = { 0 };
	struct call c = fake_begin(&f, "GET", "/");

	(void)state;
	call_reply_empty(&c, 204);
	assert_string_equal(f.out.data,
	    "Status: 204 No Content\r\nX-Request-Id: r1\r\n\r\n");
	fake_end(&f, &c);
}

static void
a_header_cannot_split_the_answer(void **state)
{
	struct fake f = { 0 };
	struct call c = fake_begin(&f, "GET", "/");

	(void)state;
	call_header(&c, "X-Name", "a\r\nSet-Cookie: b\x7f\x01");
	assert_string_equal(c.headers.data, "X-Name: aSet-Cookie: b\r\n");
	fake_end(&f, &c);
}

static void
a_client_that_left_is_remembered(void **state)
{
	struct fake f = { .gone = true };
	struct call c = fake_begin(&f, "GET", "/");

	(void)state;
	call_begin(&c, 200, "text/plain");
	assert_true(c.gone);
	f.gone = false;
	assert_int_equal(call_write(&c, "x", 1), -1);
	assert_int_equal(call_flush(&c), -1);
	assert_int_equal(f.out.len, 0);
	assert_int_equal(f.flushes, 0);
	fake_end(&f, &c);
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
		cmocka_unit_test(parameters_that_are_absent_are_empty),
		cmocka_unit_test(query_parameters_are_decoded),
		cmocka_unit_test(numbers_of_the_query_have_bounds),
		cmocka_unit_test(words_of_queries_are_those_of_the_table),
		cmocka_unit_test(bodies_are_whole_or_refused),
		cmocka_unit_test(a_body_of_any_size_comes_in_pieces),
		cmocka_unit_test(a_body_too_large_by_declaration_is_not_read),
		cmocka_unit_test(an_empty_body_is_an_empty_object),
		cmocka_unit_test(a_broken_body_is_a_bad_request),
		cmocka_unit_test(an_answer_has_status_headers_and_body),
		cmocka_unit_test(head_gets_the_headers_of_get_alone),
		cmocka_unit_test(an_empty_answer_has_no_type),
		cmocka_unit_test(a_header_cannot_split_the_answer),
		cmocka_unit_test(a_client_that_left_is_remembered),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
