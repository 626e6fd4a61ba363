/* bigjson_test.c: tests finding members of JSON text without a parser. */
#include "t/unit/unit.h"

#include <string.h>

#include "agent/base/bigjson.h"
#include "common/mem.h"

static void
a_member_is_found_wherever_it_stands(void **state)
{
	static const struct {
		const char *text, *value; /* NULL: there is none */
	} CASES[] = {
		{ "{\"c\":\"x\"}", "\"x\"" },
		{ " { \"a\" : 1 , \"c\" : \"x\" } ", "\"x\"" },
		{ "{\"a\":{\"c\":1},\"b\":[{\"c\":2}],\"c\":3}", "3" },
		{ "{\"a\":\"\\\"c\\\":1\",\"c\":null}", "null" },
		{ "{\"c\":{\"x\":[1,{\"y\":\"}\"}]},\"d\":1}",
		    "{\"x\":[1,{\"y\":\"}\"}]}" },
		{ "{\"c\":1,\"c\":2}", "1" },
		{ "{\"c\":\"\\\\\"}", "\"\\\\\"" },
		{ "{}", NULL },
		{ "{\"a\":1}", NULL },
		{ "{\"ac\":1}", NULL },
		{ "{\"c\":}", NULL },
		{ "{\"c\"}", NULL },
		{ "{\"c\":\"x", NULL },
		{ "{\"c\":\"x\\", NULL },
		{ "{\"c\":[1", NULL },
		{ "{\"a\":],\"c\":1}", NULL },
		{ "[\"c\",1]", NULL },
		{ "\"c\"", NULL },
		{ "", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		struct bigjson_value v = { 0 };
		const char *text = CASES[i].text;
		bool found = bigjson_find(text, strlen(text), "c", &v);

		assert_int_equal(found, CASES[i].value != NULL);
		if (!found)
			continue;
		assert_int_equal(v.len, strlen(CASES[i].value));
		assert_memory_equal(text + v.at, CASES[i].value, v.len);
	}
}

static void
the_rest_is_parsed_and_must_be_json(void **state)
{
	static const char GOOD[] = "{\"a\":1,\"c\":\"large\",\"b\":[]}";
	static const char *const BAD[] = { "{\"c\":1,}", "{\"c\":1,\"c\":2}",
		"{\"c\":1} x", "{\"c\":1", "{\"a\":x,\"c\":1}" };
	auto_json json_t *rest = NULL;
	struct bigjson_value v;
	struct err e = { 0 };

	(void)state;
	assert_true(bigjson_find(GOOD, strlen(GOOD), "c", &v));
	assert_int_equal(bigjson_parse_rest(GOOD, strlen(GOOD), &v, &rest, &e),
	    0);
	assert_int_equal(json_integer_value(json_object_get(rest, "a")), 1);
	assert_true(json_is_null(json_object_get(rest, "c")));
	for (size_t i = 0; i < ARRAY_LEN(BAD); i++) {
		auto_json json_t *none = NULL;

		assert_true(bigjson_find(BAD[i], strlen(BAD[i]), "c", &v));
		assert_int_equal(bigjson_parse_rest(BAD[i], strlen(BAD[i]), &v,
				     &none, &e),
		    -1);
	}
}

/* The expected result is jansson's for the same text. */
static void
a_string_is_decoded_as_the_parser_does(void **state)
{
	static const char *const CASES[] = { "\"\"", "\"abc\"",
		"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\u0041\\u00e9\\u20AC\"",
		"\"\\ud83d\\ude00x\"", "\"\xc3\xa9\"", "\"a\\u0000b\"",
		/* and these jansson refuses */
		"\"\\ud83d\"", "\"\\ude00\"", "\"\\ud83dx\"",
		"\"\\ud83d\\u0041\"", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"",
		"\"\xff\"", "\"\n\"", "\"\\\"", "\"a", "a\"", "\"", "\"a\"b\"",
		"\"\\ud83d\\n\"" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		size_t len = strlen(CASES[i]);
		auto_free char *copy = xstrdup(CASES[i]);
		auto_json json_t *v = json_loadb(CASES[i], len,
		    JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
		ssize_t n = bigjson_unescape(copy, len);

		assert_int_equal(n,
		    v != NULL ? (ssize_t)json_string_length(v) : -1);
		if (v != NULL)
			assert_memory_equal(copy, json_string_value(v),
			    (size_t)n);
	}
}

static void
depth_is_counted_outside_of_strings(void **state)
{
	static const struct {
		const char *text;
		int ok;
	} CASES[] = {
		{ "", 1 },
		{ "[[[]]]", 1 },
		{ "[[[[]]]]", 0 },
		{ "{\"a\":[{}]}", 1 },
		{ "{\"a\":[{\"b\":[]}]}", 0 },
		{ "[\"[[[[[[\"]", 1 },
		{ "[\"\\\"[[[[\"]", 1 },
		{ "[],[],[],[]", 1 },
		{ "\"unfinished [[[[", 1 },
		{ "\"\\", 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
		assert_int_equal(bigjson_depth_ok(CASES[i].text,
				     strlen(CASES[i].text), 3),
		    CASES[i].ok);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_member_is_found_wherever_it_stands),
		cmocka_unit_test(the_rest_is_parsed_and_must_be_json),
		cmocka_unit_test(a_string_is_decoded_as_the_parser_does),
		cmocka_unit_test(depth_is_counted_outside_of_strings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
