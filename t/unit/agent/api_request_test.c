/* api_request_test.c: tests that request bodies are read within bounds. */
#include "../unit.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agent/api/request.h"
#include "common/mem.h"

struct input {
	const char *text;
	size_t left;
};

static ssize_t
read_input(void *ctx, char *to, size_t max)
{
	struct input *in = ctx;
	size_t n = in->left < max ? in->left : max;

	memcpy(to, in->text, n);
	in->text += n;
	in->left -= n;
	return (ssize_t)n;
}

static const char *
no_param(void *ctx, const char *name)
{
	(void)ctx;
	(void)name;
	return NULL;
}

static const struct call_io IO = { .read = read_input, .param = no_param };

static void
a_body_is_an_object_without_nulls(void **state)
{
	static const struct {
		const char *text;
		int rc;
		size_t members;
	} CASES[] = {
		{ "", 0, 0 },
		{ "{\"a\":null,\"b\":1}", 0, 1 },
		{ "[]", -1, 0 },
		{ "{", -1, 0 },
		{ "{\"a\":1,\"a\":2}", -1, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		auto_json json_t *body = NULL;
		struct input in = { CASES[i].text, strlen(CASES[i].text) };
		struct api_request s = { 0 };
		struct call c = { .io = &IO, .io_ctx = &in, .context = &s };
		struct err e = { 0 };

		assert_int_equal(request_body(&c, 1000, &body, &e),
		    CASES[i].rc);
		if (CASES[i].rc == 0)
			assert_int_equal(json_object_size(body),
			    CASES[i].members);
		else
			assert_code(e.code, CODE_VALIDATION_FAILED);
	}
}

/* The route knows `a`, `b` and, if `limit` says so, a time limit. */
static void
members_that_nobody_knows_are_told_or_refused(void **state)
{
	static const struct {
		const char *text, *limit;
		const char *told; /* NULL: refused */
	} CASES[] = {
		{ "{\"a\":1,\"b\":2}", "", "" },
		{ "{\"a\":1,\"c\":null}", "", "" },
		{ "{\"c\":1,\"a\":1,\"d\":{}}", "",
		    ",\"ignored\":[\"c\",\"d\"]" },
		{ "{\"A\":1}", "", ",\"ignored\":[\"A\"]" },
		{ "{\"timeout\":1}", "", ",\"ignored\":[\"timeout\"]" },
		{ "{\"timeout\":1}", ",timeoutMs", NULL },
		{ "{\"Timeout_ms\":1}", ",timeoutMs", NULL },
		{ "{\"timeoutMs\":1}", ",timeoutMs", "" },
		{ "{\"timeoutMs\":1}", ",timeout_ms", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		auto_free char *fields = xasprintf("a,b%s", CASES[i].limit);
		auto_json json_t *body = NULL;
		auto_buf struct buf told = { 0 };
		struct input in = { CASES[i].text, strlen(CASES[i].text) };
		struct api_request s = { .fields = fields };
		struct call c = { .io = &IO, .io_ctx = &in, .context = &s };
		struct err e = { 0 };

		assert_int_equal(request_body(&c, 1000, &body, &e),
		    CASES[i].told != NULL ? 0 : -1);
		request_add_ignored(&c, &told);
		if (CASES[i].told != NULL)
			assert_string_equal(told.len > 0 ? told.data : "",
			    CASES[i].told);
		else
			assert_true(strncasecmp(e.field, "timeout", 7) == 0);
		call_release(&c);
		json_decref(s.ignored);
	}
}

static void
deep_nesting_never_reaches_the_parser(void **state)
{
	auto_free char *text = xmalloc(100000);
	auto_json json_t *body = NULL;
	struct input in = { text, 100000 };
	struct call c = { .io = &IO, .io_ctx = &in };
	struct err e = { 0 };

	(void)state;
	memset(text, '[', 100000);
	assert_int_equal(request_body(&c, 200000, &body, &e), -1);
	assert_null(body);
}

static void
text_of_any_origin_becomes_a_string(void **state)
{
	auto_json json_t *s = json_bytes("a\0\xff\"", 4);

	(void)state;
	assert_true(json_is_string(s));
	assert_int_equal(json_string_length(s), 6);
	assert_memory_equal(json_string_value(s), "a\0\xef\xbf\xbd\"", 6);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_body_is_an_object_without_nulls),
		cmocka_unit_test(members_that_nobody_knows_are_told_or_refused),
		cmocka_unit_test(deep_nesting_never_reaches_the_parser),
		cmocka_unit_test(text_of_any_origin_becomes_a_string),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
