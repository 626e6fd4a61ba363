/*
 * git_url_test.c: tests which repository URLs are accepted, and that their
 * secrets stay hidden.
 */
#include "t/unit/unit.h"

#include <string.h>

#include "agent/git/url.h"
#include "common/mem.h"

static void
only_what_git_may_fetch_is_taken(void **state)
{
	static const struct {
		const char *url;
		int rc;
	} CASES[] = {
		{ "https://example.com/a/b.git", 0 },
		{ "http://127.0.0.1:8000/x", 0 },
		{ "ssh://git@example.com:22/x", 0 },
		{ "git://example.com/x", 0 },
		{ "file:///workspace/x", 0 },
		{ "git@example.com:a/b.git", 0 },
		{ "example.com:b", 0 },
		{ "/workspace/x y", 0 },
		{ "./x", 0 },
		{ "../x", 0 },
		{ "", -1 },
		{ "not-a-url", -1 },
		{ "--upload-pack=touch /tmp/x", -1 },
		{ "-x", -1 },
		{ "ext::sh -c touch% /tmp/x", -1 },
		{ "ext::sh", -1 },
		{ "fd::17", -1 },
		{ "foo::http://example.com/x", -1 },
		{ "ftp://example.com/x", -1 },
		{ "http://", -1 },
		{ "http://?x", -1 },
		{ "://x", -1 },
		{ ":x", -1 },
		{ "host:", -1 },
		{ "http://example.com/a b", -1 },
		{ "http://example.com/a\nb", -1 },
		{ "http://u:p%0aq@example.com/a", -1 },
		{ "http://u:p%00q@example.com/a", -1 },
	};
	auto_free struct git_url *u = xcalloc(1, sizeof(*u));
	struct err e = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		int rc = git_url_read(CASES[i].url, u, &e);

		if (rc != CASES[i].rc)
			fail_msg("%s: %d", CASES[i].url, rc);
		if (rc < 0)
			assert_code(e.code, CODE_INVALID_GIT_URL);
	}
}

static void
a_long_one_is_refused(void **state)
{
	auto_free struct git_url *u = xcalloc(1, sizeof(*u));
	auto_buf struct buf text = { 0 };
	struct err e = { 0 };

	(void)state;
	buf_str(&text, "http://example.com/");
	while (text.len < 2048)
		buf_str(&text, "x");
	assert_int_equal(git_url_read(text.data, u, &e), 0);
	buf_str(&text, "x");
	assert_int_equal(git_url_read(text.data, u, &e), -1);
}

static void
a_user_is_taken_out_and_can_be_put_back(void **state)
{
	static const struct {
		const char *url, *plain, *origin, *user, *password, *info;
	} CASES[] = {
		{ "https://h/x", "https://h/x", "", "", "", "" },
		{ "https://a:b@h:1/x", "https://h:1/x", "https://h:1", "a", "b",
		    "a:b@" },
		{ "http://tok@h/x", "http://h/x", "http://h", "tok", "",
		    "tok@" },
		{ "http://a:b@c@h/x", "http://h/x", "http://h", "a", "b@c",
		    "a:b%40c@" },
		{ "http://:p%40%3b@h?q", "http://h?q", "http://h", "", "p@;",
		    ":p%40%3B@" },
		{ "http://h/x@y", "http://h/x@y", "", "", "", "" },
		{ "ssh://a:b@h/x", "ssh://a:b@h/x", "", "", "", "" },
		{ "git@h:x", "git@h:x", "", "", "", "" },
	};
	auto_free struct git_url *u = xcalloc(1, sizeof(*u));
	struct err e = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		auto_buf struct buf info = { 0 };

		assert_int_equal(git_url_read(CASES[i].url, u, &e), 0);
		assert_string_equal(u->plain, CASES[i].plain);
		assert_string_equal(u->origin, CASES[i].origin);
		assert_string_equal(u->user, CASES[i].user);
		assert_string_equal(u->password, CASES[i].password);
		git_url_userinfo(u, &info);
		assert_string_equal(info.len > 0 ? info.data : "",
		    CASES[i].info);
	}
}

static void
the_last_name_is_the_directorys(void **state)
{
	static const struct {
		const char *url, *name;
	} CASES[] = {
		{ "https://h/a/b.git", "b" },
		{ "https://h/a/b/", "b" },
		{ "https://h/a/b.git/", "b" },
		{ "https://h/a/b.git?x=/y#z", "b" },
		{ "git@h:b.git", "b" },
		{ "git@h:a/b", "b" },
		{ "/workspace/b/.git", "b" },
		{ "/workspace/what?.git", "what?" },
		{ "file:///", "repository" },
		{ "/..", "repository" },
		{ "./.", "repository" },
		{ "/.git", "repository" },
	};
	auto_free struct git_url *u = xcalloc(1, sizeof(*u));
	char name[GIT_NAME_MAX];
	struct err e = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		assert_int_equal(git_url_read(CASES[i].url, u, &e), 0);
		git_url_name(u, name);
		assert_string_equal(name, CASES[i].name);
	}
}

static void
secrets_are_found_however_they_are_written(void **state)
{
	static const struct {
		const char *url, *text, *want;
	} CASES[] = {
		{ "https://h/x", "fatal: repository 'https://h/x' not found",
		    "fatal: repository 'https://h/x' not found" },
		{ "https://me:s3cret@h/x", "https://me:s3cret@h/x and s3cret",
		    "https://******@h/x and ******" },
		{ "https://me:p%40ss%2f@h/x", "p@ss/ p%40ss%2F %70@ss%2f p@ss",
		    "****** ****** ****** p@ss" },
		{ "https://ghp_abc@h/x", "for 'https://ghp_abc@h': ghp_abc",
		    "for 'https://******@h': ******" },
		{ "https://git:pw@h/x", "git said pw", "git said ******" },
		{ "https://0123456789abcdef:x-oauth-basic@h/x",
		    "0123456789abcdef", "******" },
		{ "https://h/x?token=abc&b=d%26#f", "abc d& d%26 token",
		    "****** ****** ****** token" },
		{ "https://h/x?abc", "abc", "******" },
		{ "https://h/x", "moved to https://a:b@other/ ssh://git@h",
		    "moved to https://******@other/ ssh://git@h" },
		{ "ssh://a:b@h/x", "ssh://a:b@h/x", "ssh://******@h/x" },
		{ "https://u:100%@h/x", "100% 100%25", "****** ******" },
		{ "https://h/x", "http://", "http://" },
		{ "https://h/x", "https://a@b@h/x'y@z",
		    "https://******@h/x'y@z" },
	};
	auto_free struct git_url *u = xcalloc(1, sizeof(*u));
	struct err e = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		auto_buf struct buf got = { 0 };

		assert_int_equal(git_url_read(CASES[i].url, u, &e), 0);
		git_url_redact(u, CASES[i].text, strlen(CASES[i].text), &got);
		assert_string_equal(got.data, CASES[i].want);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_git_may_fetch_is_taken),
		cmocka_unit_test(a_long_one_is_refused),
		cmocka_unit_test(a_user_is_taken_out_and_can_be_put_back),
		cmocka_unit_test(the_last_name_is_the_directorys),
		cmocka_unit_test(secrets_are_found_however_they_are_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
