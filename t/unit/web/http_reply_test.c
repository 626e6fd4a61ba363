/* http_reply_test.c: tests that an HTTP/1 response is read and written anew. */
#include "../unit.h"

#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "web/http_reply.h"

#define OK "HTTP/1.1 200 OK\r\n"
#define CLOSE "Connection: close\r\n\r\n"
#define FORGED OK "Content-Length: 6\r\n\r\nFORGED"

enum { CLOSED = HTTP_REPLY_REFUSED + 1 }; /* the program closes at the end */

struct sample {
	const char *said;
	struct http_reply_to to;
	int verdict; /* or CLOSED: complete when the program closes */
	const char *passed;
};

#define TO_HEAD                                                                \
	{                                                                      \
		.head = true                                                   \
	}
#define TO_UPGRADE                                                             \
	{                                                                      \
		.upgrade = true                                                \
	}
#define REFUSED(said)                                                          \
	{                                                                      \
		said, { 0 }, HTTP_REPLY_REFUSED, ""                            \
	}
#define WHOLE(said, passed)                                                    \
	{                                                                      \
		said, { 0 }, HTTP_REPLY_COMPLETE, passed                       \
	}

/* clang-format off */
static const struct sample SAMPLES[] = {
	/* framings */
	WHOLE(OK "Content-Length: 2\r\nX: y\r\n\r\nhi",
	    OK "X: y\r\nContent-Length: 2\r\n" CLOSE "hi"),
	WHOLE(OK "Content-Length: 0\r\n\r\n", OK "Content-Length: 0\r\n" CLOSE),
	WHOLE(OK "Transfer-Encoding: Chunked\r\n\r\n2;a=b\r\nhi\r\n0\r\nT: x\r\n\r\n",
	    OK "Transfer-Encoding: chunked\r\n" CLOSE "2\r\nhi\r\n0\r\n\r\n"),
	{ OK "\r\nuntil the end", { 0 }, CLOSED, OK CLOSE "until the end" },
	{ "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\nold", { 0 }, CLOSED,
	    OK CLOSE "old" },
	WHOLE("HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nold",
	    OK "Content-Length: 3\r\n" CLOSE "old"),
	WHOLE("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello",
	    "HTTP/1.1 204 No Content\r\n" CLOSE),
	WHOLE("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nhello",
	    "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n" CLOSE),
	{ OK "Content-Length: 5\r\n\r\nhello", TO_HEAD, HTTP_REPLY_COMPLETE,
	    OK "Content-Length: 5\r\n" CLOSE },
	{ OK "Transfer-Encoding: chunked\r\n\r\n", TO_HEAD, HTTP_REPLY_COMPLETE, OK CLOSE },
	WHOLE("HTTP/1.1 599 \r\nContent-Length: 0\r\n\r\n",
	    "HTTP/1.1 599 \r\nContent-Length: 0\r\n" CLOSE),
	/* bytes after the response do not pass */
	WHOLE(OK "Content-Length: 2\r\n\r\nhi" FORGED,
	    OK "Content-Length: 2\r\n" CLOSE "hi"),
	WHOLE(OK "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" FORGED,
	    OK "Transfer-Encoding: chunked\r\n" CLOSE "0\r\n\r\n"),
	WHOLE("HTTP/1.1 204 X\r\n\r\n" FORGED, "HTTP/1.1 204 X\r\n" CLOSE),
	{ OK "Content-Length: 5\r\n\r\n" FORGED, TO_HEAD, HTTP_REPLY_COMPLETE,
	    OK "Content-Length: 5\r\n" CLOSE },
	/* interim responses */
	WHOLE("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
	    OK "Content-Length: 2\r\n\r\nhi" FORGED,
	    OK "Content-Length: 2\r\n" CLOSE "hi"),
	WHOLE("HTTP/1.1 103 Early Hints\r\nContent-Length: 99\r\n\r\n" FORGED,
	    OK "Content-Length: 6\r\n" CLOSE "FORGED"),
	/* upgrades */
	{ "HTTP/1.1 101 Go\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nA: b\r\n\r\n\x81\x00",
	    TO_UPGRADE, HTTP_REPLY_UPGRADED,
	    "HTTP/1.1 101 Go\r\nUpgrade: websocket\r\nA: b\r\nConnection: upgrade\r\n\r\n\x81" },
	{ OK "Upgrade: h2c\r\nContent-Length: 0\r\n\r\n", TO_UPGRADE,
	    HTTP_REPLY_COMPLETE, OK "Content-Length: 0\r\n" CLOSE },
	{ "HTTP/1.1 101 Go\r\n\r\n" FORGED, TO_UPGRADE, HTTP_REPLY_REFUSED, "" },
	REFUSED("HTTP/1.1 101 Go\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n" FORGED),
	/* not a response of HTTP/1 */
	REFUSED("\r\n" FORGED),
	REFUSED("\n" FORGED),
	REFUSED(" " FORGED),
	REFUSED("<html>"),
	REFUSED("HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n"),
	REFUSED("HTTP/0.9 200 OK\r\nContent-Length: 0\r\n\r\n"),
	REFUSED("ICY 200 OK\r\n\r\n"),
	REFUSED("HTTP/1.1 99 X\r\n\r\n"),
	REFUSED("HTTP/1.1 000 X\r\n\r\n"),
	REFUSED("HTTP/1.1 600 X\r\n\r\n"),
	REFUSED("HTTP/1.1 999 X\r\n\r\n"),
	REFUSED("HTTP/1.1 2x0 X\r\n\r\n"),
	REFUSED("HTTP/1.1 -200 X\r\n\r\n"),
	REFUSED("HTTP/1.1 200 a\x01" "b\r\nContent-Length: 0\r\n\r\n"),
	/* ambiguous lengths */
	REFUSED(OK "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
	REFUSED(OK "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n"),
	REFUSED(OK "Content-Length: 2\r\nContent-Length: 3\r\n\r\nhi!"),
	REFUSED(OK "Content-Length: 2\r\nContent-Length: 2\r\n\r\nhi"),
	REFUSED(OK "Content-Length: 2, 2\r\n\r\nhi"),
	REFUSED(OK "Content-Length: -2\r\n\r\nhi"),
	REFUSED(OK "Content-Length: 0x2\r\n\r\nhi"),
	REFUSED(OK "Content-Length: 99999999999999999999999\r\n\r\nhi"),
	REFUSED(OK "Content-Length : 2\r\n\r\nhi"),
	REFUSED(OK "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
	REFUSED(OK "Transfer-Encoding: identity\r\n\r\nhi"),
	REFUSED(OK "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n"),
	REFUSED(OK "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
	REFUSED(OK "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
	REFUSED(OK "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n"),
	REFUSED("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
	/* lines that are no headers */
	REFUSED(OK "A b: c\r\nContent-Length: 0\r\n\r\n"),
	REFUSED(OK "no colon\r\nContent-Length: 0\r\n\r\n"),
	REFUSED(OK ": no name\r\nContent-Length: 0\r\n\r\n"),
	REFUSED(OK "A: b\x0b" "c\r\nContent-Length: 0\r\n\r\n"),
	REFUSED(OK "A: b\rX-Accel-Redirect: /x\r\nContent-Length: 0\r\n\r\n"),
	WHOLE(OK "A:\r\nB: \t c \t\r\nKeep-Alive: x\r\nContent-Length: 0\r\n\r\n",
	    OK "A: \r\nB: c\r\nContent-Length: 0\r\n" CLOSE),
};
/* clang-format on */

/* Feeds it in two portions, cut at `at`; the output is added to `out`. */
static int
hear(const struct sample *s, size_t at, struct buf *out)
{
	struct http_reply r;
	int verdict;

	http_reply_begin(&r, s->to);
	verdict = http_reply_take(&r, s->said, at, out);
	if (verdict == HTTP_REPLY_MORE || verdict == HTTP_REPLY_UPGRADED)
		verdict = http_reply_take(&r, s->said + at,
		    strlen(s->said) - at, out);
	if (verdict == HTTP_REPLY_MORE &&
	    http_reply_close(&r, out) == HTTP_REPLY_COMPLETE)
		verdict = CLOSED;
	http_reply_free(&r);
	return verdict;
}

/* Portions decide the sizes of chunks, so the comparison leaves them out. */
static bool
is_same(const struct sample *s, size_t at, const char *passed)
{
	return strcmp(passed, s->passed) == 0 ||
	    (at > 0 && strstr(s->passed, "2\r\nhi\r\n0") != NULL &&
		strstr(passed, "1\r\nh\r\n1\r\ni\r\n0\r\n\r\n") != NULL);
}

static void
a_response_passes_whole_or_not_at_all(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(SAMPLES); i++) {
		const struct sample *s = &SAMPLES[i];

		for (size_t at = 0; at <= strlen(s->said); at++) {
			auto_buf struct buf out = { 0 };
			int verdict;

			buf_str(&out, "");
			verdict = hear(s, at, &out);
			if (verdict != s->verdict || !is_same(s, at, out.data))
				fail_msg("cut at %zu, verdict %d:\n%s\n---\n%s",
				    at, verdict, s->said, out.data);
		}
	}
}

static void
what_is_cut_short_is_not_complete(void **state)
{
	static const char *const SAID[] = {
		"",
		"HTTP/1.1 200",
		OK "Content-Length: 5\r\n",
		OK "Content-Length: 5\r\n\r\nhell",
		OK "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
		OK "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n",
		"HTTP/1.1 103 Early Hints\r\n\r\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(SAID); i++) {
		auto_buf struct buf out = { 0 };
		struct http_reply r;

		http_reply_begin(&r, (struct http_reply_to){ 0 });
		assert_int_equal(http_reply_take(&r, SAID[i], strlen(SAID[i]),
				     &out),
		    HTTP_REPLY_MORE);
		assert_int_equal(http_reply_close(&r, &out),
		    HTTP_REPLY_REFUSED);
		http_reply_free(&r);
	}
}

/* Feeds `line` `count` times after `begin`, then an end. */
static int
hear_many(const char *begin, const char *line, size_t count)
{
	auto_buf struct buf text = { 0 }, out = { 0 };
	struct http_reply r;
	int verdict;

	buf_str(&text, begin);
	for (size_t i = 0; i < count; i++)
		buf_str(&text, line);
	buf_str(&text, begin[0] == '\0' ? OK : "");
	buf_str(&text, "Content-Length: 0\r\n\r\n");
	http_reply_begin(&r, (struct http_reply_to){ 0 });
	verdict = http_reply_take(&r, text.data, text.len, &out);
	http_reply_free(&r);
	return verdict;
}

static void
size_and_number_are_bounded(void **state)
{
	static const char INTERIM[] = "HTTP/1.1 103 X\r\nA: b\r\n\r\n";
	char line[8192];

	(void)state;
	assert_int_equal(hear_many(OK, "A: b\r\n", HTTP_HEADERS_MAX - 1),
	    HTTP_REPLY_COMPLETE);
	assert_int_equal(hear_many(OK, "A: b\r\n", HTTP_HEADERS_MAX),
	    HTTP_REPLY_REFUSED);
	snprintf(line, sizeof(line), "A: %04096d\r\n", 0);
	assert_int_equal(hear_many(OK, line, 15), HTTP_REPLY_COMPLETE);
	assert_int_equal(hear_many(OK, line, 17), HTTP_REPLY_REFUSED);
	assert_int_equal(hear_many("", INTERIM, HTTP_REPLY_INTERIM_MAX),
	    HTTP_REPLY_COMPLETE);
	assert_int_equal(hear_many("", INTERIM, HTTP_REPLY_INTERIM_MAX + 1),
	    HTTP_REPLY_REFUSED);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_response_passes_whole_or_not_at_all),
		cmocka_unit_test(what_is_cut_short_is_not_complete),
		cmocka_unit_test(size_and_number_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
