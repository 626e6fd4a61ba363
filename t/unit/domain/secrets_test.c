/* secrets_test.c: tests which headers may be added to requests. */
#include "../unit.h"

#include <string.h>

#include "common/mem.h"
#include "common/str.h"
#include "domain/secrets.h"

static json_t *
parse(const char *text)
{
	json_t *v = json_loads(text, JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);

	assert_non_null(v);
	return v;
}

#define ONE(host, header, value)                                               \
	"[{\"host\": \"" host "\", \"header\": \"" header                      \
	"\", \"value\": \"" value "\"}]"

/* clang-format off */
/* Lists, and the field that is wrong; NULL: the list is accepted. */
static const struct {
	const char *body, *field;
} CASES[] = {
	{ "[]", NULL },
	{ ONE("api.example.com", "x-api-key", "hush"), NULL },
	{ ONE("API.Example.com.", "Authorization", "Bearer \xc3\xa9"), NULL },
	{ ONE("a.example", "!#$%&'*+-.^_`|~9", " "), NULL },
	{ "{}", "secrets" },
	{ "null", "secrets" },
	{ "[1]", "secrets[0]" },
	{ "[{\"header\": \"a\", \"value\": \"hush\"}]", "secrets[0].host" },
	{ "[{\"host\": \"a.b\", \"value\": \"hush\"}]", "secrets[0].header" },
	{ "[{\"host\": \"a.b\", \"header\": \"x\"}]", "secrets[0].value" },
	{ "[{\"host\": \"a.b\", \"header\": \"x\", \"value\": 5}]", "secrets[0].value" },
	{ "[{\"host\": \"a.b\", \"header\": \"x\", \"value\": \"hush\", \"more\": 1}]", "secrets[0].more" },
	{ ONE("a.b:443", "x", "hush"), "secrets[0].host" },
	{ ONE("*.a.b", "x", "hush"), "secrets[0].host" },
	{ ONE("https://a.b", "x", "hush"), "secrets[0].host" },
	{ ONE("@npm", "x", "hush"), "secrets[0].host" },
	{ ONE("203.0.113.7", "x", "hush"), "secrets[0].host" },
	{ ONE("2001:db8::1", "x", "hush"), "secrets[0].host" },
	{ ONE("0x7f000001", "x", "hush"), "secrets[0].host" },
	{ ONE("", "x", "hush"), "secrets[0].host" },
	{ ONE("a.b", "", "hush"), "secrets[0].header" },
	{ ONE("a.b", "x y", "hush"), "secrets[0].header" },
	{ ONE("a.b", "x:", "hush"), "secrets[0].header" },
	{ ONE("a.b", "x\\r\\ny", "hush"), "secrets[0].header" },
	{ ONE("a.b", "\xc3\xa9", "hush"), "secrets[0].header" },
	{ ONE("a.b", "Host", "hush"), "secrets[0].header" },
	{ ONE("a.b", "content-LENGTH", "hush"), "secrets[0].header" },
	{ ONE("a.b", "Transfer-Encoding", "hush"), "secrets[0].header" },
	{ ONE("a.b", "connection", "hush"), "secrets[0].header" },
	{ ONE("a.b", "upgrade", "hush"), "secrets[0].header" },
	{ ONE("a.b", "expect", "hush"), "secrets[0].header" },
	{ ONE("a.b", "te", "hush"), "secrets[0].header" },
	{ ONE("a.b", "Trailer", "hush"), "secrets[0].header" },
	{ ONE("a.b", "Proxy-Authorization", "hush"), "secrets[0].header" },
	{ ONE("a.b", "PROXY-x", "hush"), "secrets[0].header" },
	{ ONE("a.b", "x", ""), "secrets[0].value" },
	{ ONE("a.b", "x", "hush\\r\\nHost: c"), "secrets[0].value" },
	{ ONE("a.b", "x", "hush\\t"), "secrets[0].value" },
	{ ONE("a.b", "x", "hush\\u007f"), "secrets[0].value" },
	{ ONE("a.b", "x", "hush\\u0000"), "secrets[0].value" },
	{ "[{\"host\": \"a.b\", \"header\": \"x\", \"value\": \"hush\"},"
	  " {\"host\": \"A.B.\", \"header\": \"X\", \"value\": \"hush\"}]", "secrets[1].header" },
	{ "[{\"host\": \"a.b\", \"header\": \"x\", \"value\": \"hush\"},"
	  " {\"host\": \"a.b\", \"header\": \"y\", \"value\": \"hush\"}]", NULL },
};
/* clang-format on */

static void
errors_name_the_member_and_never_the_value(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		auto_json json_t *body = parse(CASES[i].body);
		struct err e = { 0 };
		int rc = secrets_check(body, "secrets", NULL, &e);

		if (CASES[i].field == NULL
			? rc != 0
			: !str_equal(e.field, CASES[i].field))
			fail_msg("%s: %s %s", CASES[i].body, e.field, e.msg);
		if (strstr(e.msg, "hush") != NULL)
			fail_msg("a value is in: %s", e.msg);
	}
}

static json_t *
secret(const char *host, const char *header, size_t length)
{
	auto_free char *value = xcalloc(length + 1, 1);

	memset(value, 'v', length);
	return json_pack("{s:s, s:s, s:s}", "host", host, "header", header,
	    "value", value);
}

static void
a_value_has_at_most_8192_bytes(void **state)
{
	auto_json json_t *most = json_array(), *more = json_array();
	struct err e = { 0 };

	(void)state;
	json_array_append_new(most, secret("a.b", "x", 8192));
	json_array_append_new(more, secret("a.b", "x", 8193));
	assert_int_equal(secrets_check(most, "secrets", NULL, &e), 0);
	assert_int_equal(secrets_check(more, "secrets", NULL, &e), -1);
	assert_string_equal(e.field, "secrets[0].value");
}

static void
there_are_at_most_20(void **state)
{
	auto_json json_t *list = json_array();
	struct err e = { 0 };
	char header[8];

	(void)state;
	for (int i = 0; i < 21; i++) {
		snprintf(header, sizeof(header), "x-%d", i);
		json_array_append_new(list, secret("a.b", header, 1));
		assert_int_equal(secrets_check(list, "secrets", NULL, &e),
		    i < 20 ? 0 : -1);
	}
	assert_string_equal(e.field, "secrets");
}

static void
hosts_are_stored_in_one_form_and_names_have_no_values(void **state)
{
	auto_json json_t *body = parse(ONE("API.Example.com.", "X-Key", "v"));
	auto_json json_t *all = parse(ONE("api.example.com", "X-Key", "v"));
	auto_json json_t *want =
	    parse("[{\"host\": \"api.example.com\", \"header\": \"X-Key\"}]");
	auto_json json_t *named = NULL, *names = NULL;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(secrets_check(body, "secrets", &named, &e), 0);
	assert_true(json_equal(named, all));
	names = secrets_names(named);
	assert_true(json_equal(names, want));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_name_the_member_and_never_the_value),
		cmocka_unit_test(a_value_has_at_most_8192_bytes),
		cmocka_unit_test(there_are_at_most_20),
		cmocka_unit_test(
		    hosts_are_stored_in_one_form_and_names_have_no_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
