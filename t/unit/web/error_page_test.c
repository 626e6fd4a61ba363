/* error_page_test.c: tests the error page for people. */
#include "../unit.h"

#include <sodium.h>
#include <string.h>

#include "common/base64.h"
#include "common/mem.h"
#include "web/error_page.h"

static void
who_names_html_first_gets_a_page(void **state)
{
	static const struct {
		const char *accept;
		bool page;
	} CASES[] = {
		{ "text/html,application/xhtml+xml,*/*;q=0.8", true },
		{ "TEXT/HTML", true },
		{ "text/html, application/json", true },
		{ "application/json, text/html", false },
		{ "application/problem+json, text/html", false },
		{ "application/json, text/plain, */*", false },
		{ "*/*", false },
		{ "", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
		if (error_page_wanted(CASES[i].accept) != CASES[i].page)
			fail_msg("%s", CASES[i].accept);
}

static void
text_is_no_markup(void **state)
{
	auto_buf struct buf b = { 0 };

	(void)state;
	error_page_write(&b, "<a> & \"b\"", "<p>c</p>", 0);
	assert_non_null(
	    strstr(b.data, "<h1>&lt;a&gt; &amp; &quot;b&quot;</h1>"));
	assert_non_null(strstr(b.data, "<p>c</p>"));
	assert_null(strstr(b.data, "refresh"));
	error_page_write(&b, "x", "", 7);
	assert_non_null(strstr(b.data, "content=\"7\""));
}

/* A browser ignores a style whose hash is not in the policy. */
static void
the_policy_allows_the_style(void **state)
{
	auto_buf struct buf page = { 0 }, hash = { 0 };
	unsigned char digest[crypto_hash_sha256_BYTES];
	const char *style, *end;

	(void)state;
	error_page_write(&page, "x", "", 0);
	style = strstr(page.data, "<style>") + strlen("<style>");
	end = strstr(style, "</style>");
	crypto_hash_sha256(digest, (const unsigned char *)style,
	    (unsigned long long)(end - style));
	buf_str(&hash, "'sha256-");
	base64_encode(&hash, digest, sizeof(digest));
	assert_non_null(strstr(NOTICE_POLICY, hash.data));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_names_html_first_gets_a_page),
		cmocka_unit_test(text_is_no_markup),
		cmocka_unit_test(the_policy_allows_the_style),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
