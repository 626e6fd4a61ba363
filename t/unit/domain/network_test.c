/* network_test.c: tests policies: what they accept, and what they allow. */
#include "t/unit/unit.h"

#include <string.h>

#include "common/mem.h"
#include "domain/network.h"

static void
names_and_addresses_have_one_form(void **state)
{
	static const struct {
		const char *text, *form; /* NULL: refused */
	} CASES[] = {
		{ "api.example.com", "api.example.com" },
		{ "API.Example.COM", "api.example.com" },
		{ "api.example.com.", "api.example.com" },
		{ "xn--bcher-kva.example", "xn--bcher-kva.example" },
		{ "_dmarc.example.com", "_dmarc.example.com" },
		{ "localhost", "localhost" },
		{ "203.0.113.7", "203.0.113.7" },
		{ "2001:DB8:0:0:0:0:0:1", "2001:db8::1" },
		{ "::ffff:127.0.0.1", "::ffff:127.0.0.1" },
		{ "", NULL },
		{ ".", NULL },
		{ "..", NULL },
		{ "a..b", NULL },
		{ ".example.com", NULL },
		{ "example.com..", NULL },
		{ "-a.example", NULL },
		{ "a-.example", NULL },
		{ "a b.example", NULL },
		{ "a\\.example", NULL },
		{ "a%2eexample", NULL },
		{ "b\xc3\xbc"
		  "cher.example",
		    NULL },
		{ "user@example.com", NULL },
		{ "example.com:80", NULL },
		{ "127.1", NULL },
		{ "0x7f000001", NULL },
		{ "0x7f.1", NULL },
		{ "2130706433", NULL },
		{ "127.0.0.01", NULL },
		{ "a.1", NULL },
		{ "fe80::1%eth0", NULL },
		{ "[::1]", NULL },
	};
	char form[NETWORK_HOST_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		bool taken =
		    network_host(CASES[i].text, strlen(CASES[i].text), form);

		if (taken != (CASES[i].form != NULL))
			fail_msg("\"%s\"", CASES[i].text);
		assert_string_equal(form, taken ? CASES[i].form : "");
	}
	assert_false(network_host("a\0b", 3, form));
}

static void
names_are_bounded(void **state)
{
	char name[300], form[NETWORK_HOST_MAX];

	(void)state;
	memset(name, 'a', sizeof(name));
	assert_true(network_host(name, 63, form));
	assert_false(network_host(name, 64, form));
	for (size_t i = 50; i < sizeof(name); i += 50)
		name[i] = '.';
	assert_true(network_host(name, 253, form));
	assert_false(network_host(name, 254, form));
}

static void
an_entry_has_one_meaning_or_none(void **state)
{
	static const struct {
		const char *entry, *host; /* NULL: refused */
		bool below;
		uint16_t port;
	} CASES[] = {
		{ "A.example", "a.example", false, 0 },
		{ "a.example.:443", "a.example", false, 443 },
		{ "*.A.example", "a.example", true, 0 },
		{ "*.a.example:65535", "a.example", true, 65535 },
		{ "192.0.2.1", "192.0.2.1", false, 0 },
		{ "192.0.2.1:1", "192.0.2.1", false, 1 },
		{ "::1", "::1", false, 0 },
		{ "[::1]", "::1", false, 0 },
		{ "[2001:DB8::1]:22", "2001:db8::1", false, 22 },
		/* eight groups without brackets are an address, not a port */
		{ "1:2:3:4:5:6:7:80", "1:2:3:4:5:6:7:80", false, 0 },
		{ "", NULL, false, 0 },
		{ ":443", NULL, false, 0 },
		{ "*", NULL, false, 0 },
		{ "*.", NULL, false, 0 },
		{ "*:443", NULL, false, 0 },
		{ "*.*", NULL, false, 0 },
		{ "*.*.example", NULL, false, 0 },
		{ "*a.example", NULL, false, 0 },
		{ "a.*", NULL, false, 0 },
		{ "**.example", NULL, false, 0 },
		{ "*..example", NULL, false, 0 },
		{ "*.192.0.2.1", NULL, false, 0 },
		{ "[*.::1]", NULL, false, 0 },
		{ "*.[::1]:80", NULL, false, 0 },
		{ "[a.example]:80", NULL, false, 0 },
		{ "[192.0.2.1]:80", NULL, false, 0 },
		{ "[::1", NULL, false, 0 },
		{ "[::1]80", NULL, false, 0 },
		{ "[::1]:", NULL, false, 0 },
		{ "[::1]:80:80", NULL, false, 0 },
		{ "[]:80", NULL, false, 0 },
		{ "a.example:80:80", NULL, false, 0 },
		{ "a.example:+80", NULL, false, 0 },
		{ "a.example: 80", NULL, false, 0 },
		{ "a.example:80 ", NULL, false, 0 },
		{ " a.example", NULL, false, 0 },
		{ "a.example\n", NULL, false, 0 },
		{ "a.example,b.example", NULL, false, 0 },
		{ "a%2eexample", NULL, false, 0 },
		{ "192.0.2.0/24", NULL, false, 0 },
		{ "fe80::1%lo", NULL, false, 0 },
		{ "@npm", NULL, false, 0 },
		{ "a.example?x", NULL, false, 0 },
		{ "a.example#x", NULL, false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		struct network_rule r;
		const char *why = NULL;
		int rc = network_rule_parse(CASES[i].entry, &r, &why);

		if ((rc == 0) != (CASES[i].host != NULL))
			fail_msg("\"%s\"", CASES[i].entry);
		if (rc < 0)
			continue;
		assert_string_equal(r.host, CASES[i].host);
		assert_int_equal(r.below, CASES[i].below);
		assert_int_equal(r.port, CASES[i].port);
	}
}

static void
a_preset_has_a_plain_name(void **state)
{
	(void)state;
	assert_true(network_is_preset("@npm"));
	assert_true(network_is_preset("@a-1"));
	assert_true(network_is_preset("@1234567890123456789012345678901"));
	assert_false(network_is_preset("@12345678901234567890123456789012"));
	assert_false(network_is_preset("@"));
	assert_false(network_is_preset("npm"));
	assert_false(network_is_preset("@Npm"));
	assert_false(network_is_preset("@npm/x"));
	assert_false(network_is_preset("@@npm"));
}

static json_t *
parse(const char *text)
{
	json_t *v = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);

	assert_non_null(v);
	return v;
}

static void
a_body_is_checked(void **state)
{
	static const struct {
		const char *body, *field, *message; /* parts of the error */
	} CASES[] = {
		{ "[]", "network", "must be an object" },
		{ "{\"mode\": \"all\"}", "network.mode", "" },
		{ "{\"allowed\": []}", "network", "" },
		{ "{\"allow\": \"x\"}", "network.allow", "" },
		{ "{\"allow\": [1]}", "network.allow[0]", "must be a string" },
		{ "{\"allow\": [\"a.b\", \"*\"]}", "network.allow[1]",
		    "mode: open" },
		{ "{\"allow\": [\"https://a.b\"]}", "network.allow[0]",
		    "without scheme" },
		{ "{\"allow\": [\"a.b/c\"]}", "network.allow[0]", "path" },
		{ "{\"allow\": [\"u@a.b\"]}", "network.allow[0]", "user" },
		{ "{\"allow\": [\"a.b:0\"]}", "network.allow[0]", "port" },
		{ "{\"allow\": [\"a.b:99999\"]}", "network.allow[0]", "port" },
		{ "{\"allow\": [\"a.b:\"]}", "network.allow[0]", "port" },
		{ "{\"allow\": [\"*.10.0.0.1\"]}", "network.allow[0]",
		    "not a host" },
		{ "{\"allow\": [\"a.*.b\"]}", "network.allow[0]",
		    "not a host" },
		{ "{\"allow\": [\"b\\u00fccher.example\"]}", "network.allow[0]",
		    "xn--" },
		{ "{\"allow\": [\"a\\u0000.b\"]}", "network.allow[0]", "" },
		{ "{\"mode\": \"open\", \"allow\": [\"a.b\"]}", "network.allow",
		    "mode: allow" },
		{ "{\"mode\": \"allow\"}", "network.allow", "is missing" },
		{ "{\"allow\": [\"@NPM\"]}", "network.allow[0]",
		    "small letters" },
		{ "{\"allow\": [\"a.b,c.d\"]}", "network.allow[0]", "a list" },
		{ "{\"allow\": [\"10.0.0.0/8\"]}", "network.allow[0]",
		    "a range" },
		{ "{\"allow\": [\"fd00::/8\"]}", "network.allow[0]",
		    "a range" },
		{ "{\"mode\": \"open\", \"maxRequests\": 0}",
		    "network.maxRequests", "" },
		{ "{\"maxRequests\": -1}", "network.maxRequests", "" },
		{ "{\"maxRequests\": 1.5}", "network.maxRequests", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		auto_json json_t *body = parse(CASES[i].body);
		struct err e = { 0 };

		if (network_check(body, "network", NULL, &e) == 0)
			fail_msg("%s was accepted", CASES[i].body);
		assert_int_equal(e.kind, ERR_INVALID);
		if (strncmp(e.field, CASES[i].field, strlen(CASES[i].field)) !=
		    0)
			fail_msg("%s: field %s", CASES[i].body, e.field);
		if (strstr(e.msg, CASES[i].message) == NULL)
			fail_msg("%s: %s", CASES[i].body, e.msg);
	}
}

static void
a_list_alone_means_allow(void **state)
{
	auto_json json_t *body = parse("{\"allow\": [\"A.b\", \"@npm\"]}");
	auto_json json_t *named = NULL;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(network_check(body, "network", &named, &e), 0);
	assert_string_equal(json_str(named, "mode"), "allow");
	assert_int_equal(json_array_size(json_object_get(named, "allow")), 2);
	assert_null(json_object_get(named, "maxRequests"));
}

static void
a_connection_is_compared_with_host_and_port(void **state)
{
	static const char POLICY[] =
	    "{\"mode\": \"allow\", \"allow\": [\"api.example.com\","
	    " \"*.Packages.example.org\", \"git.example.com:22\","
	    " \"203.0.113.7:5432\", \"[2001:db8::1]:443\"]}";
	static const struct {
		const char *host;
		uint16_t port;
		bool allowed, resolves;
	} CASES[] = {
		{ "api.example.com", 443, true, true },
		{ "api.example.com", 80, true, true },
		{ "api.example.com", 22, false, true },
		{ "x.api.example.com", 443, false, false },
		{ "example.com", 443, false, false },
		{ "notapi.example.com", 443, false, false },
		{ "a.packages.example.org", 443, true, true },
		{ "a.b.packages.example.org", 80, true, true },
		{ "packages.example.org", 443, false, false },
		{ "xpackages.example.org", 443, false, false },
		{ "evilpackages.example.org", 443, false, false },
		{ "git.example.com", 22, true, true },
		{ "git.example.com", 443, false, true },
		{ "203.0.113.7", 5432, true, true },
		{ "203.0.113.7", 443, false, true },
		{ "2001:db8::1", 443, true, true },
	};
	auto_policy struct network_policy p = { 0 };
	auto_json json_t *body = parse(POLICY);
	struct err e = { 0 };
	uint16_t ports[8];

	(void)state;
	assert_int_equal(network_policy_decode(body, &p, &e), 0);
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		if (network_allows(&p, CASES[i].host, CASES[i].port) !=
		    CASES[i].allowed)
			fail_msg("%s:%u", CASES[i].host, CASES[i].port);
		if (network_allows_host(&p, CASES[i].host) != CASES[i].resolves)
			fail_msg("%s", CASES[i].host);
	}
	assert_int_equal(network_ports(&p, ports, ARRAY_LEN(ports)), 4);
	assert_int_equal(ports[0], 22);
	assert_int_equal(ports[1], 80);
	assert_int_equal(ports[2], 443);
	assert_int_equal(ports[3], 5432);
	assert_int_equal(network_ports(&p, ports, 2), 2);
}

static void
a_list_is_bounded(void **state)
{
	auto_json json_t *body = json_pack("{s:[]}", "allow");
	json_t *allow = json_object_get(body, "allow");
	char entry[NETWORK_ENTRY_MAX + 1];
	struct err e = { 0 };

	(void)state;
	for (int i = 0; i < NETWORK_ALLOW_MAX; i++)
		json_array_append_new(allow, json_string("a.example"));
	assert_int_equal(network_check(body, "network", NULL, &e), 0);
	json_array_append_new(allow, json_string("a.example"));
	assert_int_equal(network_check(body, "network", NULL, &e), -1);
	assert_string_equal(e.field, "network.allow");
	memset(entry, 'a', sizeof(entry));
	entry[NETWORK_ENTRY_MAX] = '\0';
	json_array_clear(allow);
	json_array_append_new(allow, json_string(entry));
	assert_int_equal(network_check(body, "network", NULL, &e), -1);
	assert_string_equal(e.field, "network.allow[0]");
}

static void
a_wildcard_names_no_address(void **state)
{
	struct network_rule r = { .host = "1", .below = true };
	const struct network_policy p = { .mode = NETWORK_ALLOW,
		.rules = &r,
		.count = 1 };

	(void)state;
	assert_false(network_allows(&p, "192.0.2.1", 443));
	assert_true(network_allows(&p, "a.1", 443));
}

static void
modes_without_a_list(void **state)
{
	auto_policy struct network_policy none = { 0 }, open = { 0 };
	auto_json json_t *a = parse("{}"), *b = parse("{\"mode\": \"open\"}");
	struct err e = { 0 };

	(void)state;
	assert_int_equal(network_policy_decode(a, &none, &e), 0);
	assert_int_equal(network_policy_decode(b, &open, &e), 0);
	assert_false(network_allows(&none, "a.example", 443));
	assert_false(network_allows_host(&none, "a.example"));
	assert_true(network_allows(&open, "a.example", 12345));
}

static void
an_entry_that_cannot_be_parsed_is_not_left_out(void **state)
{
	auto_policy struct network_policy p = { 0 };
	auto_json json_t *body = parse("{\"allow\": [\"a.b\", \"@gone\"]}");
	struct err e = { 0 };

	(void)state;
	assert_int_equal(network_policy_decode(body, &p, &e), -1);
	assert_int_equal(p.count, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_and_addresses_have_one_form),
		cmocka_unit_test(names_are_bounded),
		cmocka_unit_test(an_entry_has_one_meaning_or_none),
		cmocka_unit_test(a_preset_has_a_plain_name),
		cmocka_unit_test(a_body_is_checked),
		cmocka_unit_test(a_list_is_bounded),
		cmocka_unit_test(a_wildcard_names_no_address),
		cmocka_unit_test(a_list_alone_means_allow),
		cmocka_unit_test(a_connection_is_compared_with_host_and_port),
		cmocka_unit_test(modes_without_a_list),
		cmocka_unit_test(
		    an_entry_that_cannot_be_parsed_is_not_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
