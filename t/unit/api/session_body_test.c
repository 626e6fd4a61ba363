/* session_body_test.c: tests which bodies are accepted, and their errors. */
#include "../unit.h"

#include <string.h>

#include "../web/fake_io.h"
#include "api/v1/session_body.h"
#include "common/clock.h"
#include "common/mem.h"
#include "domain/state.h"

static const struct conf CONF = { .sleep_after_seconds = 600 };
static struct app APP = { .conf = &CONF, .hold_ms = 600 * 1000 };

static struct call
begin(struct fake *f, const char *method)
{
	struct call c = fake_begin(f, method, "/v1/sessions");

	c.context = &APP;
	return c;
}

/* clang-format off */
/* Bodies, and the field that is wrong; NULL: the body is accepted. */
static const struct {
	const char *body, *field;
} CREATES[] = {
	{ "", NULL },
	{ "{}", NULL },
	{ "{\"name\": \"n\"}", NULL },
	{ "{\"name\": \"\"}", "name" },
	{ "{\"name\": 1}", "name" },
	{ "{\"name\": \"a\\nb\"}", "name" },
	{ "{\"name\": \"a\\u007fb\"}", "name" },
	{ "{\"name\": \"a\\u00e9\"}", NULL },
	{ "{\"colour\": 1}", "colour" },
	{ "{\"correlationKeys\": [\"slack:thread:C1/17\", \"git:branch:r:main\"]}", NULL },
	{ "{\"correlationKeys\": [\"a\", \"a\"]}", NULL },
	{ "{\"correlationKeys\": [\"\\u00e4 b\"]}", NULL },
	{ "{\"correlationKeys\": []}", "correlationKeys" },
	{ "{\"correlationKeys\": \"a\"}", "correlationKeys" },
	{ "{\"correlationKeys\": {}}", "correlationKeys" },
	{ "{\"correlationKeys\": [1]}", "correlationKeys" },
	{ "{\"correlationKeys\": [\"a\", null]}", "correlationKeys" },
	{ "{\"correlationKeys\": [\"\"]}", "correlationKeys" },
	{ "{\"correlationKeys\": [\"a\\tb\"]}", "correlationKeys" },
	{ "{\"correlationKeys\": [\"a\\u007f\"]}", "correlationKeys" },
	{ "{\"correlationKeys\": [\"a\\u0085\"]}", "correlationKeys" },
	{ "{\"correlationKeys\": [\"a\\u0000b\"]}", "correlationKeys" },
	{ "{\"correlationKeys\": [\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\",\"10\",\"11\",\"12\",\"13\",\"14\",\"15\",\"16\"]}", NULL },
	{ "{\"correlationKeys\": [\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\",\"10\",\"11\",\"12\",\"13\",\"14\",\"15\",\"16\",\"17\"]}", "correlationKeys" },
	{ "{\"isolation\": \"shared\"}", NULL },
	{ "{\"isolation\": \"both\"}", "isolation" },
	{ "{\"class\": \"small\"}", "class" },
	{ "{\"class\": \"small\", \"isolation\": \"shared\"}", "class" },
	{ "{\"class\": \"small\", \"isolation\": \"session\"}", NULL },
	{ "{\"labels\": {\"a\": \"b\"}}", NULL },
	{ "{\"labels\": {\"a\": 1}}", "labels" },
	{ "{\"labels\": {\"a\": null}}", "labels" },
	{ "{\"labels\": {\"\": \"b\"}}", "labels" },
	{ "{\"labels\": []}", "labels" },
	{ "{\"env\": {\"PATH_2\": \"x\"}}", NULL },
	{ "{\"env\": {\"2PATH\": \"x\"}}", "env" },
	{ "{\"env\": {\"A=B\": \"x\"}}", "env" },
	{ "{\"env\": {\"A\": null}}", "env" },
	{ "{\"env\": {\"A\": \"x\\u0000y\"}}", "body" },
	{ "{\"sleepAfterSeconds\": 1}", NULL },
	{ "{\"sleepAfterSeconds\": 0}", "sleepAfterSeconds" },
	{ "{\"sleepAfterSeconds\": 2592001}", "sleepAfterSeconds" },
	{ "{\"sleepAfterSeconds\": 1.5}", "sleepAfterSeconds" },
	{ "{\"sleepAfter\": \"30s\"}", NULL },
	{ "{\"sleepAfter\": \"720h\"}", NULL },
	{ "{\"sleepAfter\": \"721h\"}", "sleepAfter" },
	{ "{\"sleepAfter\": \"0s\"}", "sleepAfter" },
	{ "{\"sleepAfter\": \"10\"}", "sleepAfter" },
	{ "{\"sleepAfter\": \"10d\"}", "sleepAfter" },
	{ "{\"sleepAfter\": \"-1m\"}", "sleepAfter" },
	{ "{\"sleepAfter\": \"99999999999999h\"}", "sleepAfter" },
	{ "{\"keepAlive\": true, \"wakeOnPreview\": false}", NULL },
	{ "{\"keepAlive\": \"yes\"}", "keepAlive" },
	{ "{\"expiresAt\": \"2999-01-31T12:00:00Z\"}", NULL },
	{ "{\"expiresAt\": \"2999-01-31T12:00:00.25+02:00\"}", NULL },
	{ "{\"expiresAt\": \"2999-01-31T12:00:00\"}", "expiresAt" },
	{ "{\"expiresAt\": \"2999-01-31T12:00:00+0200\"}", "expiresAt" },
	{ "{\"expiresAt\": \"2999-02-30T12:00:00Z\"}", "expiresAt" },
	{ "{\"expiresAt\": \"2999-01-31T12:00:00+99:00\"}", "expiresAt" },
	{ "{\"expiresAt\": \"2999-01-31T12:00:00+02:60\"}", "expiresAt" },
	{ "{\"expiresAt\": \"2001-01-31T12:00:00Z\"}", "expiresAt" },
	{ "{\"expiresAt\": \"next thursday, please\"}", "expiresAt" },
	{ "{\"baseUrl\": \"https://p.example.com\"}", NULL },
	{ "{\"baseUrl\": \"http://localhost:8080\"}", NULL },
	{ "{\"baseUrl\": \"http://127.0.0.1\"}", NULL },
	{ "{\"baseUrl\": \"http://p.example.com\"}", "baseUrl" },
	{ "{\"baseUrl\": \"http://localhost.evil.example\"}", "baseUrl" },
	{ "{\"baseUrl\": \"http://127.0.0.1.evil.example\"}", "baseUrl" },
	{ "{\"baseUrl\": \"https://p.example.com/x\"}", "baseUrl" },
	{ "{\"baseUrl\": \"https://u@p.example.com\"}", "baseUrl" },
	{ "{\"baseUrl\": \"ftp://p.example.com\"}", "baseUrl" },
	{ "{\"files\": [{\"path\": \"a\", \"content\": \"x\"}]}", NULL },
	{ "{\"files\": [{\"path\": \"a\", \"contentBase64\": \"eA==\"}]}", NULL },
	{ "{\"files\": [{\"path\": \"a\", \"contentBase64\": \"\"}]}", NULL },
	{ "{\"files\": [{\"path\": \"a\", \"contentBase64\": \"?\"}]}", "files[0].contentBase64" },
	{ "{\"files\": [{\"path\": \"a\"}]}", "files[0]" },
	{ "{\"files\": [{\"path\": \"a\", \"content\": \"x\", \"contentBase64\": \"eA==\"}]}", "files[0]" },
	{ "{\"files\": [{\"path\": \"a\", \"content\": 1}]}", "files[0].content" },
	{ "{\"files\": [{\"path\": \"\", \"content\": \"x\"}]}", "files[0].path" },
	{ "{\"files\": [{\"content\": \"x\"}]}", "files[0].path" },
	{ "{\"files\": [{\"path\": \"a\", \"content\": \"x\", \"mode\": \"0755\"}]}", NULL },
	{ "{\"files\": [{\"path\": \"a\", \"content\": \"x\", \"mode\": 420}]}", NULL },
	{ "{\"files\": [{\"path\": \"a\", \"content\": \"x\", \"mode\": 512}]}", "files[0].mode" },
	{ "{\"files\": [{\"path\": \"a\", \"content\": \"x\", \"mode\": \"4755\"}]}", "files[0].mode" },
	{ "{\"files\": [{\"path\": \"a\", \"content\": \"x\", \"mode\": \"rwx\"}]}", "files[0].mode" },
	{ "{\"files\": [{\"path\": \"a\", \"content\": \"x\", \"owner\": \"root\"}]}", "files[0].owner" },
	{ "{\"files\": [1]}", "files[0]" },
	{ "{\"files\": [{\"path\": \"/proc/x\", \"content\": \"\"}]}", "files[0].path" },
	{ "{\"files\": [{\"path\": \"../../dev/x\", \"content\": \"\"}]}", "files[0].path" },
	{ "{\"files\": [{\"path\": \"/sandlease-agent\", \"content\": \"\"}]}", "files[0].path" },
	{ "{\"files\": [{\"path\": \"dir/\", \"content\": \"\"}]}", "files[0].path" },
	{ "{\"files\": [{\"path\": \"a\", \"content\": \"\"}, {\"path\": \"./a\", \"content\": \"\"}]}", "files[1].path" },
	{ "{\"files\": [{\"path\": \"a/b\", \"content\": \"\"}, {\"path\": \"a\", \"content\": \"\"}]}", "files[1].path" },
	{ "{\"files\": [{\"path\": \"a/../b\", \"content\": \"\"}, {\"path\": \"/home/user/c\", \"content\": \"\"}, {\"path\": \"/tmp/d\", \"content\": \"\"}]}", NULL },
	{ "{\"network\": {\"allow\": [\"a.example\", \"@npm\"]}}", NULL },
	{ "{\"network\": {\"mode\": \"all\"}}", "network.mode" },
	{ "{\"network\": {\"allow\": [\"a.example\", \"*\"]}}", "network.allow[1]" },
	{ "{\"network\": null}", "network" },
	{ "{\"secrets\": [{\"host\": \"a.example\", \"header\": \"x\", \"value\": \"v\"}]}", NULL },
	{ "{\"secrets\": [{\"host\": \"a.example\", \"header\": \"host\", \"value\": \"v\"}]}", "secrets[0].header" },
	{ "{\"start\": false}", NULL },
	{ "{\"start\": 0}", "start" },
	{ "{\"snapshotFallback\": true}", "snapshotFallback" },
	{ "{\"snapshotFallback\": true, \"snapshot\": \"abc\"}", NULL },
};
/* clang-format on */

static void
a_create_says_which_field_is_wrong(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CREATES); i++) {
		struct fake f = { .body = CREATES[i].body };
		struct call c = begin(&f, "POST");
		auto_json json_t *json = NULL;
		const char *field = CREATES[i].field;
		struct create_body b;
		struct err e = { 0 };
		int rc = create_body_read(&c, &b, &json, &e);

		if ((rc == 0) != (field == NULL))
			fail_msg("%s: %s %s", CREATES[i].body, e.field, e.msg);
		if (rc < 0 && strcmp(e.field, field) != 0 &&
		    strcmp(field, "body") != 0)
			fail_msg("%s: %s instead of %s", CREATES[i].body,
			    e.field, field);
		if (rc < 0)
			assert_int_equal(e.kind, ERR_INVALID);
		fake_end(&f, &c);
	}
}

static void
what_is_not_said_has_its_default(void **state)
{
	struct fake f = { .body = "{}" };
	struct call c = begin(&f, "POST");
	auto_json json_t *json = NULL;
	struct create_body b;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(create_body_read(&c, &b, &json, &e), 0);
	assert_int_equal(b.sleep_after_seconds, 600);
	assert_int_equal(b.isolation, -1);
	assert_int_equal(b.keep_alive, -1);
	assert_int_equal(b.start, -1);
	assert_false(b.sleep_given);
	assert_string_equal(b.name, "");
	assert_null(b.env);
	fake_end(&f, &c);
}

static void
words_become_numbers(void **state)
{
	struct fake f = { .body =
			      "{\"sleepAfter\": \"2h\","
			      " \"isolation\": \"session\","
			      " \"files\": [{\"path\": \"a\","
			      " \"content\": \"x\", \"mode\": \"0644\"}]}" };
	struct call c = begin(&f, "POST");
	auto_json json_t *json = NULL;
	struct create_body b;
	struct err e = { 0 };
	const json_t *file;

	(void)state;
	assert_int_equal(create_body_read(&c, &b, &json, &e), 0);
	assert_int_equal(b.sleep_after_seconds, 7200);
	assert_int_equal(b.isolation, ISOLATION_SESSION);
	file = json_array_get(b.files, 0);
	assert_int_equal(json_integer_value(json_object_get(file, "mode")),
	    0644);
	fake_end(&f, &c);
}

/* Only the sandbox class decides whether such a path can be written. */
static void
files_in_the_root_are_noted(void **state)
{
	static const struct {
		const char *first, *second;
		int64_t want;
	} CASES[] = {
		{ "a", "/dev/shm/a", 0 },
		{ "/etc/passwd", "/opt/a", 1 },
		{ "a", "../../etc/x", 2 },
		{ "/workspacex", "a", 1 },
		{ "/tmp/a", "/device", 2 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		auto_free char *body = xasprintf(
		    "{\"files\": [{\"path\": \"%s\", \"content\": \"\"},"
		    " {\"path\": \"%s\", \"content\": \"\"}]}",
		    CASES[i].first, CASES[i].second);
		struct fake f = { .body = body };
		struct call c = begin(&f, "POST");
		auto_json json_t *json = NULL;
		struct create_body b;
		struct err e = { 0 };

		assert_int_equal(create_body_read(&c, &b, &json, &e), 0);
		assert_int_equal(b.files_in_root, CASES[i].want);
		fake_end(&f, &c);
	}
}

static void
a_name_may_come_from_a_header(void **state)
{
	static const struct {
		const char *body, *header;
		const char *want; /* NULL: refused */
	} CASES[] = {
		{ "{}", "n", "n" },
		{ "{\"name\": \"n\"}", "n", "n" },
		{ "{\"name\": \"n\"}", "", "n" },
		{ "{\"name\": \"n\"}", "m", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		const char *const params[] = { "HTTP_X_SANDBOX_NAME",
			CASES[i].header, NULL };
		struct fake f = { .params = params, .body = CASES[i].body };
		struct call c = begin(&f, "POST");
		auto_json json_t *json = NULL;
		struct create_body b;
		struct err e = { 0 };
		int rc = create_body_read(&c, &b, &json, &e);

		assert_int_equal(rc, CASES[i].want != NULL ? 0 : -1);
		if (rc == 0)
			assert_string_equal(b.name, CASES[i].want);
		else
			assert_string_equal(e.field, "name");
		fake_end(&f, &c);
	}
}

static void
a_patch_may_remove_and_leaves_the_rest_alone(void **state)
{
	static const struct {
		const char *body, *field;
	} CASES[] = {
		{ "{}", NULL },
		{ "{\"labels\": {\"a\": null}, \"env\": {\"A\": null}}", NULL },
		{ "{\"labels\": {\"a\": 1}}", "labels" },
		{ "{\"env\": {\"A\": true}}", "env" },
		{ "{\"name\": \"n\"}", "name" },
		{ "{\"baseUrl\": \"http://x.example\"}", "baseUrl" },
		{ "{\"sleepAfterSeconds\": 0}", "sleepAfterSeconds" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		struct fake f = { .body = CASES[i].body };
		struct call c = begin(&f, "PATCH");
		auto_json json_t *json = NULL;
		struct patch_body b;
		struct err e = { 0 };
		int rc = patch_body_read(&c, &b, &json, &e);

		assert_int_equal(rc, CASES[i].field == NULL ? 0 : -1);
		if (rc < 0)
			assert_string_equal(e.field, CASES[i].field);
		else
			assert_int_equal(b.keep_alive, -1);
		fake_end(&f, &c);
	}
}

static void
hash_body(const char *path, const char *body, const char *header,
    char out[TOKEN_HASH_HEX_MAX])
{
	const char *const params[] = { "HTTP_X_SANDBOX_NAME", header, NULL };
	struct fake f = { .params = params, .body = body };
	struct call c = fake_begin(&f, "POST", path);
	auto_json json_t *json = NULL;
	struct err e = { 0 };

	assert_int_equal(call_json(&c, BODY_MAX, &json, &e), 0);
	request_hash(&c, json, out);
	fake_end(&f, &c);
}

static void
the_same_request_has_the_same_hash(void **state)
{
	static const struct {
		const char *path, *body, *header;
		bool same;
	} CASES[] = {
		{ "/v1/sessions", "{\"a\": 1, \"b\": 2}", "", true },
		{ "/v1/sessions", "{ \"b\":2,\"a\":1 }", "", true },
		{ "/v1/sessions", "{\"a\": 1, \"b\": 3}", "", false },
		{ "/v1/sessions", "{\"a\": 1}", "", false },
		{ "/v1/other", "{\"a\": 1, \"b\": 2}", "", false },
		{ "/v1/sessions", "{\"a\": 1, \"b\": 2}", "n", false },
	};
	char first[TOKEN_HASH_HEX_MAX], other[TOKEN_HASH_HEX_MAX];

	(void)state;
	hash_body(CASES[0].path, CASES[0].body, CASES[0].header, first);
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		hash_body(CASES[i].path, CASES[i].body, CASES[i].header, other);
		assert_int_equal(strcmp(first, other) == 0, CASES[i].same);
	}
}

static void
wait_is_bounded(void **state)
{
	static const struct {
		const char *query;
		int64_t seconds; /* -1: refused */
	} CASES[] = {
		{ "", WAIT_DEFAULT_S },
		{ "wait=0", 0 },
		{ "wait=60", 60 },
		{ "wait=61", -1 },
		{ "wait=-1", -1 },
		{ "wait=ten", -1 },
		{ "wait=", -1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		const char *const params[] = { "QUERY_STRING", CASES[i].query,
			NULL };
		struct fake f = { .params = params };
		struct call c = begin(&f, "POST");
		int64_t before = clock_ms(), deadline = 0;
		struct err e = { 0 };
		int rc = wait_deadline(&c, &deadline, &e);

		assert_int_equal(rc, CASES[i].seconds < 0 ? -1 : 0);
		if (rc == 0) {
			int64_t after = clock_ms();

			assert_true(
			    deadline >= before + CASES[i].seconds * 1000);
			assert_true(
			    deadline <= after + CASES[i].seconds * 1000);
		}
		fake_end(&f, &c);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_create_says_which_field_is_wrong),
		cmocka_unit_test(what_is_not_said_has_its_default),
		cmocka_unit_test(words_become_numbers),
		cmocka_unit_test(files_in_the_root_are_noted),
		cmocka_unit_test(a_name_may_come_from_a_header),
		cmocka_unit_test(a_patch_may_remove_and_leaves_the_rest_alone),
		cmocka_unit_test(the_same_request_has_the_same_hash),
		cmocka_unit_test(wait_is_bounded),
	};
	struct err e = { 0 };

	if (token_init(&e) < 0)
		return 1;
	return cmocka_run_group_tests_name("session_body", tests, NULL, NULL);
}
