/* json_test.c: tests the reading of JSON members by table. */
#include "../unit.h"

#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/mem.h"

static const char *const COLOURS[] = { "red", "green", NULL };

struct body {
	char name[8];
	int64_t count;
	int flag, colour;
	const json_t *labels, *files, *rule;
};

static const struct jfield ROWS[] = {
	JFIELD("name", struct body, name, J_STR, J_REQUIRED, 1, 7, "a name"),
	JFIELD("count", struct body, count, J_INT, 0, 1, 10, "how many"),
	JFIELD("flag", struct body, flag, J_BOOL, 0, 0, 0, "yes or no"),
	JFIELD_ENUM("colour", struct body, colour, 0, COLOURS, "which"),
	JFIELD("labels", struct body, labels, J_OBJ, 0, 0, 2, "words"),
	JFIELD("files", struct body, files, J_ARR, 0, 1, 2, "files"),
	JFIELD("rule", struct body, rule, J_OBJ, J_NULLABLE, 0, 2, "or null"),
};

static int
decode(const char *text, unsigned flags, struct body *b, struct err *e)
{
	auto_json json_t *v = NULL;

	*b = (struct body){ .count = 5, .flag = -1, .colour = -1 };
	if (json_parse(text, strlen(text), &v, e) < 0)
		return -1;
	return jfield_decode(v, ROWS, ARRAY_LEN(ROWS), flags, b, e);
}

static void
null_is_a_value_only_where_the_row_says_so(void **state)
{
	struct err e = { 0 };
	struct body b;

	(void)state;
	assert_int_equal(decode("{\"name\":\"a\"}", 0, &b, &e), 0);
	assert_null(b.rule);
	assert_int_equal(decode("{\"name\":\"a\",\"rule\":null}", 0, &b, &e),
	    0);
	assert_ptr_equal(b.rule, json_null());
	assert_int_equal(decode("{\"name\":\"a\",\"rule\":[]}", 0, &b, &e), -1);
	assert_int_equal(decode("{\"name\":\"a\",\"labels\":null}", 0, &b, &e),
	    -1);
	assert_string_equal(e.field, "labels");
}

static void
a_good_body_fills_the_struct(void **state)
{
	static const char TEXT[] =
	    "{\"name\":\"seven77\",\"count\":10,\"flag\":true,"
	    "\"colour\":\"green\",\"labels\":{\"a\":\"b\"},\"files\":[1,2]}";
	auto_json json_t *v = NULL;
	struct err e = { 0 };
	struct body b = { 0 };

	(void)state;
	assert_int_equal(json_parse(TEXT, strlen(TEXT), &v, &e), 0);
	assert_int_equal(jfield_decode(v, ROWS, ARRAY_LEN(ROWS), 0, &b, &e), 0);
	assert_string_equal(b.name, "seven77");
	assert_int_equal(b.count, 10);
	assert_int_equal(b.flag, 1);
	assert_int_equal(b.colour, 1);
	assert_string_equal(json_str(b.labels, "a"), "b");
	assert_int_equal(json_array_size(b.files), 2);
}

static void
absent_fields_keep_their_defaults(void **state)
{
	struct err e = { 0 };
	struct body b;

	(void)state;
	assert_int_equal(decode("{\"name\":\"a\"}", 0, &b, &e), 0);
	assert_int_equal(b.count, 5);
	assert_int_equal(b.flag, -1);
	assert_int_equal(b.colour, -1);
	assert_null(b.labels);
}

static void
bad_bodies_are_refused_by_name(void **state)
{
	static const struct {
		const char *text, *field, *says;
	} CASES[] = {
		{ "{}", "name", "is required" },
		{ "{\"name\":1}", "name", "must be a string" },
		{ "{\"name\":null}", "name", "must be a string" },
		{ "{\"name\":\"\"}", "name", "must have 1 to 7 bytes" },
		{ "{\"name\":\"eight888\"}", "name", "must have 1 to 7 bytes" },
		{ "{\"name\":\"a\\u0000b\"}", "name",
		    "must not contain a NUL" },
		{ "{\"name\":\"a\",\"count\":0}", "count",
		    "must be between 1 and 10" },
		{ "{\"name\":\"a\",\"count\":11}", "count",
		    "must be between 1 and 10" },
		{ "{\"name\":\"a\",\"count\":1.5}", "count",
		    "must be an integer" },
		{ "{\"name\":\"a\",\"count\":\"1\"}", "count",
		    "must be an integer" },
		{ "{\"name\":\"a\",\"flag\":1}", "flag",
		    "must be true or false" },
		{ "{\"name\":\"a\",\"colour\":\"blue\"}", "colour",
		    "must be one of red, green" },
		{ "{\"name\":\"a\",\"colour\":2}", "colour",
		    "must be a string" },
		{ "{\"name\":\"a\",\"labels\":[]}", "labels",
		    "must be an object" },
		{ "{\"name\":\"a\",\"labels\":{\"a\":1,\"b\":2,\"c\":3}}",
		    "labels", "must have 0 to 2 members" },
		{ "{\"name\":\"a\",\"files\":{}}", "files",
		    "must be an array" },
		{ "{\"name\":\"a\",\"files\":[]}", "files",
		    "must have 1 to 2 elements" },
		{ "{\"name\":\"a\",\"Name\":\"b\"}", "Name",
		    "is not a known field" },
		{ "[]", "", "the body must be a JSON object" },
		{ "7", "", "the body is not valid JSON" },
		{ "", "", "the body is not valid JSON" },
		{ "{\"name\":\"a\"", "", "the body is not valid JSON" },
		{ "{\"name\":\"a\"} x", "", "the body is not valid JSON" },
		{ "{\"name\":\"a\",\"name\":\"b\"}", "",
		    "the body is not valid JSON" },
		{ "{\"name\":\"\xff\"}", "", "the body is not valid JSON" },
		{ "{\"name\":\"a\",\"count\":99999999999999999999}", "",
		    "the body is not valid JSON" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		struct err e = { 0 };
		struct body b;

		assert_int_equal(decode(CASES[i].text, 0, &b, &e), -1);
		assert_int_equal(e.kind, ERR_INVALID);
		assert_code(e.code, CODE_VALIDATION_FAILED);
		assert_string_equal(e.field, CASES[i].field);
		assert_non_null(strstr(e.msg, CASES[i].says));
	}
}

static void
other_programs_may_say_more(void **state)
{
	struct err e = { 0 };
	struct body b;

	(void)state;
	assert_int_equal(
	    decode("{\"name\":\"a\",\"new\":1}", J_LENIENT, &b, &e), 0);
	assert_int_equal(decode("{\"new\":1}", J_LENIENT, &b, &e), -1);
}

static void
depth_without_end_is_refused(void **state)
{
	enum { DEEP = 100000 };
	auto_free char *text = xmalloc(DEEP + 1);
	auto_json json_t *v = NULL;
	struct err e = { 0 };

	(void)state;
	memset(text, '[', DEEP);
	assert_int_equal(json_parse(text, DEEP, &v, &e), -1);
	assert_null(v);
}

static void
text_is_compact(void **state)
{
	auto_json json_t *v = json_pack("{s:[i,b]}", "a", 1, 1);
	auto_free char *text = json_text(v);
	auto_free char *none = json_text(NULL);

	(void)state;
	assert_string_equal(text, "{\"a\":[1,true]}");
	assert_string_equal(none, "null");
	assert_string_equal(json_str(v, "a"), "");
	assert_string_equal(json_str(v, "b"), "");
}

static void
numbers_are_short_and_read_back(void **state)
{
	static const char *const TEXTS[] = { "{\"cpuPercent\":0.1}",
		"[97.2,{\"a\":[1.5,-0.7]}]", "[0.30000000000000004]", "[1e300]",
		"[1.0]" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(TEXTS); i++) {
		auto_json json_t *v = NULL;
		auto_free char *text = NULL;
		struct err e = { 0 };

		assert_int_equal(json_parse(TEXTS[i], strlen(TEXTS[i]), &v, &e),
		    0);
		text = json_text(v);
		assert_string_equal(text, TEXTS[i]);
	}
}

static void
text_that_is_not_utf8_still_becomes_a_string(void **state)
{
	auto_json json_t *good = json_lossy("gr\xc3\xbcn");
	auto_json json_t *cut = json_lossy("gr\xc3");

	(void)state;
	assert_string_equal(json_string_value(good), "gr\xc3\xbcn");
	assert_string_equal(json_string_value(cut), "gr?");
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
		cmocka_unit_test(a_good_body_fills_the_struct),
		cmocka_unit_test(null_is_a_value_only_where_the_row_says_so),
		cmocka_unit_test(absent_fields_keep_their_defaults),
		cmocka_unit_test(bad_bodies_are_refused_by_name),
		cmocka_unit_test(other_programs_may_say_more),
		cmocka_unit_test(depth_without_end_is_refused),
		cmocka_unit_test(text_is_compact),
		cmocka_unit_test(numbers_are_short_and_read_back),
		cmocka_unit_test(text_that_is_not_utf8_still_becomes_a_string),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
