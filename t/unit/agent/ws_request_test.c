/* ws_request_test.c: tests the parsing of a client's message on /ws. */
#include "t/unit/unit.h"

#include <string.h>

#include "agent/ws/request.h"
#include "common/mem.h"

#define ASKS(path)                                                             \
	"{\"type\":\"request\",\"id\":\"a\",\"method\":\"GET\",\"path\":" path \
	"}"

static void
a_request_is_taken_with_what_it_says(void **state)
{
	static const char TEXT[] =
	    "{\"type\":\"request\",\"id\":\"ws_1\",\"method\":\"POST\","
	    "\"path\":\"/api/x?a=b?c\",\"body\":{\"n\":null},"
	    "\"headers\":{\"x-SESSION-id\":\"s\",\"n\":1},\"more\":[]}";
	struct ws_request r;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(ws_request_parse(TEXT, strlen(TEXT), &r, &e), 0);
	assert_false(r.cancel);
	assert_string_equal(r.id, "ws_1");
	assert_string_equal(r.method, "POST");
	assert_string_equal(r.raw, "/api/x?a=b?c");
	assert_string_equal(r.path, "/api/x");
	assert_string_equal(r.query, "a=b?c");
	assert_true(json_is_object(r.body));
	assert_string_equal(ws_request_header(&r, "X-Session-Id"), "s");
	assert_string_equal(ws_request_header(&r, "N"), "");
	assert_string_equal(ws_request_header(&r, "other"), "");
	ws_request_free(&r);
}

static void
a_path_is_decoded_as_nginx_would(void **state)
{
	static const struct {
		const char *text, *path; /* NULL: none */
	} CASES[] = {
		{ ASKS("\"/a%2Fb%20c+d\""), "/a/b c+d" },
		{ ASKS("\"/%c3%a9\""), "/\xc3\xa9" },
		{ ASKS("\"/a?%zz\""), "/a" },
		{ ASKS("\"/%c3\""), NULL },
		{ ASKS("\"/%00\""), NULL },
		{ ASKS("\"/%0a\""), NULL },
		{ ASKS("\"/%2\""), NULL },
		{ ASKS("\"/%\""), NULL },
		{ ASKS("\"/%g0\""), NULL },
		{ ASKS("\"a\""), NULL },
		{ ASKS("\"\""), NULL },
		{ ASKS("7"), NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		struct ws_request r;
		struct err e = { 0 };
		int rc = ws_request_parse(CASES[i].text, strlen(CASES[i].text),
		    &r, &e);

		assert_int_equal(rc, CASES[i].path != NULL ? 0 : -1);
		if (rc == 0)
			assert_string_equal(r.path, CASES[i].path);
		else
			assert_code(e.code, CODE_INVALID_REQUEST);
		ws_request_free(&r);
	}
}

static void
what_is_none_is_told_apart(void **state)
{
	static const struct {
		const char *text;
		enum err_code code;
		const char *id;
	} CASES[] = {
		{ "", CODE_PARSE_ERROR, NULL },
		{ "{", CODE_PARSE_ERROR, NULL },
		{ "\xff", CODE_PARSE_ERROR, NULL },
		{ "{\"id\":\"a\",\"id\":\"b\"}", CODE_PARSE_ERROR, NULL },
		{ "[]", CODE_INVALID_REQUEST, NULL },
		{ "{\"type\":\"request\"}", CODE_INVALID_REQUEST, NULL },
		{ "{\"type\":\"cancel\",\"id\":\"\"}", CODE_INVALID_REQUEST,
		    NULL },
		{ "{\"type\":\"x\",\"id\":\"a\"}", CODE_INVALID_REQUEST, "a" },
		{ "{\"type\":\"request\",\"id\":\"a\",\"method\":\"get\","
		  "\"path\":\"/\"}",
		    CODE_INVALID_REQUEST, "a" },
		{ "{\"type\":\"request\",\"id\":\"a\",\"method\":\"GET\","
		  "\"path\":\"/\",\"headers\":7}",
		    CODE_INVALID_REQUEST, "a" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		struct ws_request r;
		struct err e = { 0 };

		assert_int_equal(ws_request_parse(CASES[i].text,
				     strlen(CASES[i].text), &r, &e),
		    -1);
		assert_code(e.code, CASES[i].code);
		if (CASES[i].id == NULL)
			assert_null(r.id);
		else
			assert_string_equal(r.id, CASES[i].id);
		ws_request_free(&r);
	}
}

static void
nesting_is_bounded_before_it_is_parsed(void **state)
{
	auto_buf struct buf deep = { 0 };
	struct ws_request r;
	struct err e = { 0 };

	(void)state;
	for (int i = 0; i < 100000; i++)
		buf_str(&deep, "[");
	assert_int_equal(ws_request_parse(deep.data, deep.len, &r, &e), -1);
	assert_code(e.code, CODE_PARSE_ERROR);
	ws_request_free(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_is_taken_with_what_it_says),
		cmocka_unit_test(a_path_is_decoded_as_nginx_would),
		cmocka_unit_test(what_is_none_is_told_apart),
		cmocka_unit_test(nesting_is_bounded_before_it_is_parsed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
