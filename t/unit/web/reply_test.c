/* reply_test.c: tests errors in the format of the API that the client used. */
#include "../unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "fake_io.h"
#include "web/reply.h"

static json_t *
answer(const struct fake *f)
{
	const char *text = fake_answer_body(f);
	struct err e = { 0 };
	json_t *v = NULL;

	assert_int_equal(json_parse(text, strlen(text), &v, &e), 0);
	return v;
}

static void
a_problem_has_all_its_members(void **state)
{
	struct fake f = { 0 };
	struct call c = fake_begin(&f, "GET", "/");
	auto_json json_t *v = NULL;
	auto_free char *text = NULL;
	struct err e = { 0 };

	(void)state;
	err_set(&e, ERR_CONFLICT, CODE_NAME_TAKEN, "the name is taken");
	reply_problem(&c, &e, NULL);
	v = answer(&f);
	text = json_text(v);
	assert_string_equal(text,
	    "{\"type\":\"about:blank\",\"title\":\"Conflict\",\"status\":409,"
	    "\"detail\":\"the name is taken\",\"code\":\"name_taken\","
	    "\"retryable\":false,\"traceId\":\"t1\",\"errors\":[]}");
	assert_non_null(strstr(f.out.data,
	    "Status: 409 Conflict\r\nContent-Type: application/problem+json\r\n"));
	assert_null(strstr(f.out.data, "Retry-After"));
	fake_end(&f, &c);
}

static void
bad_input_is_listed_by_field(void **state)
{
	struct fake f = { 0 };
	struct call c = fake_begin(&f, "POST", "/");
	auto_json json_t *v = NULL;
	const json_t *first;
	struct err e = { 0 };

	(void)state;
	err_field(&e, "ttl", "is odd");
	reply_problem(&c, &e, NULL);
	v = answer(&f);
	assert_string_equal(json_str(v, "detail"), "ttl: is odd");
	first = json_array_get(json_object_get(v, "errors"), 0);
	assert_string_equal(json_str(first, "field"), "ttl");
	assert_string_equal(json_str(first, "message"), "is odd");
	fake_end(&f, &c);
}

static void
an_error_may_say_more(void **state)
{
	static const struct {
		const char *more, *header;
		bool named;
	} CASES[] = {
		{ "{\"retryAfter\": 42, \"quota\": {\"name\": \"active\"}}",
		    "Retry-After: 42\r\n", true },
		{ "{\"quota\": {\"name\": \"active\"}}", "Retry-After: 5\r\n",
		    true },
		{ "not JSON", "Retry-After: 5\r\n", false },
		{ "[]", "Retry-After: 5\r\n", false },
		{ "{\"code\": \"forged\"}", "Retry-After: 5\r\n", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		struct fake f = { 0 };
		struct call c = fake_begin(&f, "GET", "/");
		auto_json json_t *v = NULL;
		struct err e = { 0 };

		err_set(&e, ERR_LIMITED, CODE_QUOTA_EXCEEDED, "too many");
		snprintf(e.more, sizeof(e.more), "%s", CASES[i].more);
		reply_problem(&c, &e, NULL);
		v = answer(&f);
		assert_non_null(strstr(f.out.data, CASES[i].header));
		assert_string_equal(json_str(v, "code"), "quota_exceeded");
		assert_null(json_object_get(v, "retryAfter"));
		assert_string_equal(json_str(json_object_get(v, "quota"),
					"name"),
		    CASES[i].named ? "active" : "");
		fake_end(&f, &c);
	}
}

static void
whoever_may_come_again_is_told_when(void **state)
{
	struct fake f = { 0 };
	struct call c = fake_begin(&f, "GET", "/");
	auto_json json_t *v = NULL;
	struct err e = { 0 };

	(void)state;
	err_set(&e, ERR_LIMITED, CODE_QUOTA_EXCEEDED, "too many");
	reply_problem(&c, &e, NULL);
	v = answer(&f);
	assert_true(json_is_true(json_object_get(v, "retryable")));
	assert_non_null(strstr(f.out.data, "Retry-After: 5\r\n"));
	fake_end(&f, &c);
}

static void
an_error_nobody_named_is_internal(void **state)
{
	struct fake f = { 0 };
	struct call c = fake_begin(&f, "GET", "/");
	auto_json json_t *v = NULL;
	struct err e = { 0 };

	(void)state;
	reply_problem(&c, &e, NULL);
	v = answer(&f);
	assert_string_equal(json_str(v, "code"), "internal");
	assert_int_equal(c.status, 500);
	fake_end(&f, &c);
}

/* A field's name is cut at a byte, which may be inside a character. */
static void
a_cut_name_still_makes_a_document(void **state)
{
	char name[ERR_FIELD_MAX + 1];
	struct fake f = { 0 };
	struct call c = fake_begin(&f, "POST", "/");
	auto_json json_t *v = NULL;
	struct err e = { 0 };

	(void)state;
	memset(name, 'x', sizeof(name));
	memcpy(name + ERR_FIELD_MAX - 2, "\xc3\xbc", 3);
	err_field(&e, name, "is not a known field");
	reply_problem(&c, &e, NULL);
	v = answer(&f);
	assert_int_equal(json_integer_value(json_object_get(v, "status")), 400);
	assert_int_equal(json_array_size(json_object_get(v, "errors")), 1);
	fake_end(&f, &c);
}

static void
the_data_plane_speaks_in_capitals(void **state)
{
	struct fake f = { 0 };
	struct call c = fake_begin(&f, "GET", "/");
	auto_json json_t *context =
	    json_pack("{s:s}", "reason", "container_replaced");
	auto_json json_t *v = NULL;
	struct err e = { 0 };

	(void)state;
	err_set(&e, ERR_UNAVAILABLE, CODE_CONTAINER_UNAVAILABLE, "come again");
	reply_container_error(&c, &e, context);
	v = answer(&f);
	assert_string_equal(json_str(v, "code"), "CONTAINER_UNAVAILABLE");
	assert_string_equal(json_str(v, "message"), "come again");
	assert_string_equal(json_str(v, "error"), "come again");
	assert_string_equal(json_str(json_object_get(v, "context"), "reason"),
	    "container_replaced");
	assert_int_equal(json_integer_value(json_object_get(v, "httpStatus")),
	    503);
	assert_int_equal(strlen(json_str(v, "timestamp")), 24);
	assert_non_null(strstr(f.out.data, "Content-Type: application/json\r"));
	assert_non_null(strstr(f.out.data, "Retry-After: 1\r\n"));
	fake_end(&f, &c);
}

static void
the_data_plane_needs_no_context(void **state)
{
	struct fake f = { 0 };
	struct call c = fake_begin(&f, "GET", "/");
	auto_json json_t *v = NULL;
	struct err e = { 0 };

	(void)state;
	err_set(&e, ERR_NOT_FOUND, CODE_NOT_FOUND, "no such session");
	reply_container_error(&c, &e, NULL);
	v = answer(&f);
	assert_true(json_is_object(json_object_get(v, "context")));
	fake_end(&f, &c);
}

static void
a_field_that_was_wrong_is_named_there_too(void **state)
{
	struct fake f = { 0 };
	struct call c = fake_begin(&f, "POST", "/");
	auto_json json_t *context = json_pack("{s:s}", "path", "/x");
	auto_json json_t *v = NULL;
	const json_t *ctx, *first;
	struct err e = { 0 };

	(void)state;
	err_field(&e, "port", "is odd");
	reply_container_error(&c, &e, context);
	v = answer(&f);
	assert_string_equal(json_str(v, "message"), "port: is odd");
	assert_string_equal(json_str(v, "error"), "port: is odd");
	ctx = json_object_get(v, "context");
	assert_string_equal(json_str(ctx, "path"), "/x");
	first = json_array_get(json_object_get(ctx, "validationErrors"), 0);
	assert_string_equal(json_str(first, "field"), "port");
	assert_string_equal(json_str(first, "message"), "is odd");
	assert_null(json_object_get(context, "validationErrors"));
	fake_end(&f, &c);
}

static void
a_proxied_port_has_its_own_words(void **state)
{
	static const struct {
		const char *port, *want;
	} CASES[] = { { "8081", "8081" }, { "x\"y", "\"x\\\"y\"" },
		{ "\xff", "\"?\"" }, { "", "\"\"" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		struct fake f = { 0 };
		struct call c = fake_begin(&f, "GET", "/");
		auto_json json_t *v = NULL;
		auto_free char *port = NULL;
		struct err e = { 0 };

		err_set(&e, ERR_NOT_FOUND, CODE_PORT_NOT_EXPOSED,
		    "not exposed");
		reply_proxy_error(&c, &e, "Port not found", CASES[i].port);
		v = answer(&f);
		assert_string_equal(json_str(v, "code"), "PORT_NOT_EXPOSED");
		assert_string_equal(json_str(v, "error"), "Port not found");
		assert_string_equal(json_str(v, "message"), "not exposed");
		port = json_text(json_object_get(v, "port"));
		assert_string_equal(port, CASES[i].want);
		fake_end(&f, &c);
	}
}

static void
a_page_loads_itself_again_where_that_may_help(void **state)
{
	static const struct {
		const char *method;
		enum err_kind kind;
		bool later, reloads;
	} CASES[] = {
		{ "GET", ERR_UNAVAILABLE, true, true },
		{ "POST", ERR_UNAVAILABLE, true, false },
		{ "GET", ERR_GONE, false, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		struct fake f = { 0 };
		struct call c = fake_begin(&f, CASES[i].method, "/");
		struct err e = { 0 };

		err_set(&e, CASES[i].kind, CODE_WAKING, "x");
		reply_preview_page(&c, &e, "Title", "<p>text</p>");
		assert_non_null(strstr(f.out.data,
		    "Content-Security-Policy: default-src 'none'; "));
		assert_non_null(
		    strstr(f.out.data, "<h1>Title</h1><p>text</p>"));
		assert_int_equal(CASES[i].later,
		    strstr(f.out.data, "Retry-After: ") != NULL);
		assert_int_equal(CASES[i].reloads,
		    strstr(f.out.data, "http-equiv=\"refresh\"") != NULL);
		assert_int_equal(CASES[i].reloads,
		    strstr(f.out.data, "tries again by itself") != NULL);
		fake_end(&f, &c);
	}
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
		cmocka_unit_test(a_problem_has_all_its_members),
		cmocka_unit_test(bad_input_is_listed_by_field),
		cmocka_unit_test(an_error_may_say_more),
		cmocka_unit_test(whoever_may_come_again_is_told_when),
		cmocka_unit_test(an_error_nobody_named_is_internal),
		cmocka_unit_test(a_cut_name_still_makes_a_document),
		cmocka_unit_test(the_data_plane_speaks_in_capitals),
		cmocka_unit_test(the_data_plane_needs_no_context),
		cmocka_unit_test(a_field_that_was_wrong_is_named_there_too),
		cmocka_unit_test(a_proxied_port_has_its_own_words),
		cmocka_unit_test(a_page_loads_itself_again_where_that_may_help),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
