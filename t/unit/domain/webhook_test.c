/* webhook_test.c: tests which URLs and events a webhook may name. */
#include "../unit.h"

#include <string.h>

#include "common/mem.h"
#include "common/str.h"
#include "domain/webhook.h"

static void
a_url_names_its_host(void **state)
{
	static const char *const CASES[][2] = {
		{ "https://example.com", "example.com" },
		{ "https://Example.COM./hook", "example.com" },
		{ "http://example.com:8080/a/b?c=d&e=%20f", "example.com" },
		{ "https://example.com?x", "example.com" },
		{ "http://192.0.2.7:1/", "192.0.2.7" },
		{ "http://[2001:DB8::1]", "2001:db8::1" },
		{ "http://[2001:db8::1]:65535/x", "2001:db8::1" },
		{ "http://a_b.example/x:y@z", "a_b.example" },
		{ "https://localhost/", "localhost" },
	};
	char host[NETWORK_HOST_MAX];
	struct err e = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		if (webhook_url_check(CASES[i][0], host, &e) < 0)
			fail_msg("%s: %s", CASES[i][0], e.msg);
		assert_string_equal(host, CASES[i][1]);
	}
}

static void
a_url_that_parsers_could_read_differently_is_refused(void **state)
{
	static const char *const CASES[] = { "", "example.com", "//example.com",
		"ftp://example.com", "file:///etc/passwd",
		"HTTPS://example.com", "http:/example.com", "http://",
		"http:///path", "http://?x", "http://user@example.com",
		"http://u:p@example.com/", "http://example.com@127.0.0.1/",
		"http://example.com#@evil/", "http://example.com/#x",
		"http://example.com:0/", "http://example.com:65536/",
		"http://example.com:/", "http://example.com:80:80/",
		"http://example.com:+80/", "http://example.com:8x/",
		"http://exa mple.com/", "http://example.com/a b",
		"http://example.com/\t", "http://example.com\\@evil/",
		"http://exämple.com/", "http://example.com/\x7f",
		"http://2130706433/", "http://0x7f000001/", "http://127.1/",
		"http://0177.0.0.1/", "http://127.0.0.1.5/", "http://::1/",
		"http://[127.0.0.1]/", "http://[example.com]/", "http://[::1",
		"http://[::1]x/", "http://[::1]80/", "http://[fe80::1%25eth0]/",
		"http://[]/", "http://-example.com/", "http://.example.com/",
		"http://example..com/" };
	char host[NETWORK_HOST_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		struct err e = { 0 };

		if (webhook_url_check(CASES[i], host, &e) == 0)
			fail_msg("%s is accepted, as %s", CASES[i], host);
		assert_string_equal(e.field, "url");
		assert_int_equal(e.code, CODE_VALIDATION_FAILED);
	}
}

static void
a_url_has_a_longest_form(void **state)
{
	char url[WEBHOOK_URL_MAX + 1] = "https://example.com/";
	char host[NETWORK_HOST_MAX];
	struct err e = { 0 };

	(void)state;
	memset(url + strlen(url), 'a', WEBHOOK_URL_MAX - 1 - strlen(url));
	assert_int_equal(strlen(url), 2048);
	assert_int_equal(webhook_url_check(url, host, &e), 0);
	url[2048] = 'a';
	assert_int_equal(webhook_url_check(url, host, &e), -1);
}

static void
only_known_events_are_accepted(void **state)
{
	auto_json json_t *all = webhook_events_all(), *bad = NULL;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(json_array_size(all), 2);
	assert_int_equal(webhook_events_check(all, &e), 0);
	bad = json_pack("[s, s]", "session.failed", "test");
	assert_int_equal(webhook_events_check(bad, &e), -1);
	assert_string_equal(e.field, "events");
	json_array_set_new(bad, 1, json_integer(1));
	assert_int_equal(webhook_events_check(bad, &e), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_url_names_its_host),
		cmocka_unit_test(
		    a_url_that_parsers_could_read_differently_is_refused),
		cmocka_unit_test(a_url_has_a_longest_form),
		cmocka_unit_test(only_known_events_are_accepted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
