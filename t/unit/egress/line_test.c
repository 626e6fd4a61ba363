/* line_test.c: tests which first lines are taken for HTTP. */
#include "../unit.h"

#include <string.h>

#include "common/mem.h"
#include "egress/serve/serve.h"

#define TEXT(text) text, sizeof(text) - 1

static const struct {
	const char *text;
	size_t len;
	enum line_kind is;
} CASES[] = {
	{ TEXT("GET / HTTP/1.1\r\n"), LINE_HTTP },
	{ TEXT("get\t/\thttp/1.0\n"), LINE_HTTP },
	{ TEXT("\r\n \nM-SEARCH * HTTP/1.1"), LINE_HTTP },
	{ TEXT("NO_SUCH\x1c/\x1cHTTP/"), LINE_HTTP },
	{ TEXT("GET /hthttphttp/"), LINE_HTTP },
	{ TEXT("PRI * HTTP/2.0\r\n"), LINE_HTTP },
	/* a method that is no text */
	{ TEXT("\0GET / HTTP/1.1\n"), LINE_HTTP },
	{ TEXT("\x80 / HTTP/1.1\r\n"), LINE_HTTP },
	{ TEXT("\xef\xbb\xbfGET / http/1.0 \t \r\n"), LINE_HTTP },
	{ TEXT("(GET) / HTTP/1.1                                        \n"),
	    LINE_HTTP },
	/* a version of another protocol */
	{ TEXT("GET /x RTSP/1.1\r\n"), LINE_HTTP },
	{ TEXT("SOURCE /x  ICE/1.0 \r\n"), LINE_HTTP },
	{ TEXT("DESCRIBE rtsp://host/ RTSP/1.0\r\n"), LINE_HTTP },
	/* without a version */
	{ TEXT("GET /x\r\n"), LINE_HTTP },
	{ TEXT("NO-SUCH  /x \t\n"), LINE_HTTP },
	{ TEXT("OPTIONS *\n"), LINE_HTTP },
	{ TEXT("GET ftp://host/\n"), LINE_HTTP },
	{ TEXT("GET /x"), LINE_MORE },
	{ TEXT("GE"), LINE_MORE },
	{ TEXT(" \r\n"), LINE_MORE },
	{ TEXT("word HTTP"), LINE_MORE },
	/* other protocols */
	{ TEXT("get key\r\n"), LINE_OTHER },
	{ TEXT("get /key\r\n"), LINE_OTHER },
	{ TEXT("USER anonymous\r\n"), LINE_OTHER },
	{ TEXT("CONNECT {}\r\n"), LINE_OTHER },
	{ TEXT("/\r\n"), LINE_OTHER },
	{ TEXT("SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"), LINE_OTHER },
	{ TEXT("U\0\0\0 'GET / HTTP/1.1'\n"), LINE_OTHER },
	{ TEXT("<34>1 host app: \"GET / HTTP/1.1\" 200\n"), LINE_OTHER },
	{ TEXT("{\"line\": \"GET / HTTP/1.1\"}\n"), LINE_OTHER },
	{ TEXT("REGISTER sip:host SIP/2.0\r\n"), LINE_OTHER },
	{ TEXT("U\0\0\0GET / HTTP/1.1"), LINE_MORE },
	{ TEXT("003fgit-upload-pack /p\0host=x\0"), LINE_MORE },
};

static void
a_line_is_judged_however_it_arrives(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		struct line whole = { .part = LINE_BEFORE }, parts = whole;
		enum line_kind is = LINE_MORE;

		if (line_read(&whole, CASES[i].text, CASES[i].len) !=
		    CASES[i].is)
			fail_msg("%s", CASES[i].text);
		for (size_t k = 0; is == LINE_MORE && k < CASES[i].len; k++)
			is = line_read(&parts, CASES[i].text + k, 1);
		if (is != CASES[i].is)
			fail_msg("in parts: %s", CASES[i].text);
	}
}

static void
a_line_without_an_end_is_none(void **state)
{
	static char many[64 * 1024];
	struct line l = { .part = LINE_BEFORE };
	enum line_kind is = LINE_MORE;
	size_t count = 0;

	(void)state;
	memset(many, 'a', sizeof(many));
	while (is == LINE_MORE && count < 1000) {
		is = line_read(&l, many, sizeof(many));
		count++;
	}
	assert_int_equal(is, LINE_OTHER);
	/* Go takes a line of a megabyte */
	assert_true(count * sizeof(many) > 1024 * 1024);
}

static void
blanks_without_a_line_are_for_a_server_that_skips_them(void **state)
{
	static char many[8 * 1024];
	struct line l = { .part = LINE_BEFORE };
	enum line_kind is = LINE_MORE;
	size_t count = 0;

	(void)state;
	memset(many, '\n', sizeof(many));
	for (; is == LINE_MORE && count < 1000; count++)
		is = line_read(&l, many, sizeof(many));
	assert_int_equal(is, LINE_HTTP);
	/* some of them are no part of the line behind them */
	l = (struct line){ .part = LINE_BEFORE };
	for (size_t i = 0; i + 2 < count; i++)
		assert_int_equal(line_read(&l, many, sizeof(many)), LINE_MORE);
	memset(many, 'a', sizeof(many));
	for (size_t i = 0; i < 2 * count; i++)
		assert_int_equal(line_read(&l, many, sizeof(many)), LINE_MORE);
	assert_int_equal(line_read(&l, TEXT(" / HTTP/1.1\n")), LINE_HTTP);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_is_judged_however_it_arrives),
		cmocka_unit_test(a_line_without_an_end_is_none),
		cmocka_unit_test(
		    blanks_without_a_line_are_for_a_server_that_skips_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
