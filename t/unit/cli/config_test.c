/* config_test.c: tests where the command line finds address and key. */
#include "t/unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/config.h"
#include "cli/config_file.h"
#include "common/mem.h"
#include "common/str.h"

static int
load(const char *url, struct config *c, struct err *e)
{
	return config_load(&(struct config_choice){ .url = url }, c, e);
}

static void
a_file_is_read_line_by_line(void **state)
{
	static const struct {
		const char *text, *url, *key; /* url NULL: refused */
	} CASES[] = {
		{ "", "", "" },
		{ "url = http://a\napi_key = k\n", "http://a", "k" },
		{ "# x\n\n  url=http://a  \r\n", "http://a", "" },
		{ "url = a=b", "a=b", "" },
		{ "urls = x", NULL, NULL },
		{ "url", NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		auto_free char *text = xstrdup(CASES[i].text);
		struct config c = { 0 };
		struct err e = { 0 };
		int rc = config_parse("file", text, &c, &e);

		assert_int_equal(rc, CASES[i].url == NULL ? -1 : 0);
		if (rc == 0) {
			assert_string_equal(c.url != NULL ? c.url : "",
			    CASES[i].url);
			assert_string_equal(c.key != NULL ? c.key : "",
			    CASES[i].key);
		} else {
			assert_true(str_starts(e.msg, "file:1: "));
		}
		config_free(&c);
	}
}

/* ---- with a home directory of the test */

static char home[] = "/tmp/sandlease-config-XXXXXX";

static void
put(const char *name, const char *text)
{
	auto_free char *path = xasprintf("%s/%s", home, name);
	auto_fd int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static int
set_up(void **state)
{
	(void)state;
	unsetenv("SANDLEASE_URL");
	unsetenv("SANDLEASE_API_KEY");
	unsetenv("SANDLEASE_PROFILE");
	memcpy(home + sizeof(home) - 7, "XXXXXX", 6);
	return mkdtemp(home) == NULL || setenv("XDG_CONFIG_HOME", home, 1) < 0
	    ? -1
	    : 0;
}

static int
tear_down(void **state)
{
	static const char *const NAMES[] = { "/sandlease/config", "/sandlease",
		"" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(NAMES); i++) {
		auto_free char *path = xasprintf("%s%s", home, NAMES[i]);

		(void)remove(path);
	}
	return 0;
}

static void
the_file_may_be_in_a_directory(void **state)
{
	auto_free char *dir = xasprintf("%s/sandlease", home);
	struct config c;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(mkdir(dir, 0700), 0);
	put("sandlease/config", "url = https://a/\napi_key = k\n");
	assert_int_equal(load(NULL, &c, &e), 0);
	assert_string_equal(c.url, "https://a");
	assert_string_equal(c.key, "k");
	config_free(&c);
}

static void
the_environment_has_the_last_word(void **state)
{
	struct config c;
	struct err e = { 0 };

	(void)state;
	put("sandlease", "url = https://a\napi_key = k\n");
	setenv("SANDLEASE_API_KEY", "other", 1);
	assert_int_equal(load(NULL, &c, &e), 0);
	assert_string_equal(c.key, "other");
	config_free(&c);
}

static void
a_key_goes_to_no_other_service(void **state)
{
	struct config c;
	struct err e = { 0 };

	(void)state;
	put("sandlease", "url = https://a\napi_key = k\n");
	assert_int_equal(load("https://b", &c, &e), -1);
	assert_true(str_starts(e.msg, "no key for https://b"));
	config_free(&c);
	assert_int_equal(load("https://a/v1/", &c, &e), 0);
	assert_string_equal(c.url, "https://a");
	assert_string_equal(c.key, "k");
	config_free(&c);
}

static void
a_profile_is_chosen_by_name(void **state)
{
	static const char TEXT[] = "url = https://a\napi_key = k\n"
				   "[work]\nurl = https://b\napi_key = w\n";
	struct config c;
	struct err e = { 0 };

	(void)state;
	put("sandlease", TEXT);
	setenv("SANDLEASE_API_KEY", "environment", 1);
	assert_int_equal(
	    config_load(&(struct config_choice){ .profile = "work" }, &c, &e),
	    0);
	assert_string_equal(c.url, "https://b");
	assert_string_equal(c.key, "w");
	config_free(&c);
	unsetenv("SANDLEASE_API_KEY");
	setenv("SANDLEASE_PROFILE", "work", 1);
	assert_int_equal(load(NULL, &c, &e), 0);
	assert_string_equal(c.key, "w");
	config_free(&c);
	setenv("SANDLEASE_PROFILE", "home", 1);
	assert_int_equal(load(NULL, &c, &e), -1);
	assert_true(str_starts(e.msg, "there is no profile \"home\""));
	config_free(&c);
}

static void
a_profile_is_replaced_and_the_rest_is_kept(void **state)
{
	static const struct {
		const char *text, *profile, *url, *want;
	} CASES[] = {
		{ "", "default", "u", "url = u\napi_key = k\n" },
		{ "# mine\nurl = x\n[w]\nurl = y\n", "default", "u",
		    "url = u\napi_key = k\n# mine\n[w]\nurl = y\n" },
		{ "url = x\n[w]\n# c\nurl = y\n", "w", "u",
		    "url = x\n[w]\nurl = u\napi_key = k\n# c\n" },
		{ "url = x", "w", "u",
		    "url = x\n\n[w]\nurl = u\napi_key = k\n" },
		{ "url = x\n[w]\nurl = y\n[v]\nurl = z\n", "w", NULL,
		    "url = x\n[v]\nurl = z\n" },
		{ "url = x\napi_key = k\n[v]\nurl = z\n", "default", NULL,
		    "[v]\nurl = z\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		auto_buf struct buf out = { 0 };

		config_file_edit(CASES[i].text, CASES[i].profile, CASES[i].url,
		    "k", &out);
		assert_string_equal(out.data, CASES[i].want);
	}
}

static void
what_is_missing_is_said(void **state)
{
	struct config c;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(load(NULL, &c, &e), -1);
	assert_true(str_starts(e.msg, "no service is known"));
	config_free(&c);
	assert_int_equal(load("ftp://a", &c, &e), -1);
	config_free(&c);
	setenv("SANDLEASE_API_KEY", "two\nlines", 1);
	assert_int_equal(load("https://a", &c, &e), -1);
	config_free(&c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_read_line_by_line),
		cmocka_unit_test_setup_teardown(the_file_may_be_in_a_directory,
		    set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		    the_environment_has_the_last_word, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_key_goes_to_no_other_service,
		    set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_profile_is_chosen_by_name,
		    set_up, tear_down),
		cmocka_unit_test(a_profile_is_replaced_and_the_rest_is_kept),
		cmocka_unit_test_setup_teardown(what_is_missing_is_said, set_up,
		    tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
