/* http_request_test.c: tests that HTTP/1 requests are read and written anew. */
#include "../unit.h"

#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "http_request_samples.h"

static const char SECRET[] = "s3cret";
static const struct http_added ADDED[] = { { "X-Api-Key", SECRET },
	{ "authorization", SECRET } };

/* Feeds one portion; heads are passed on to `out`. */
static enum http_request_verdict
feed(struct http_request *r, const char *data, size_t len, size_t added,
    struct buf *out)
{
	enum http_request_verdict verdict = HTTP_REQUEST_MORE;
	size_t used;

	for (size_t at = 0; at < len; at += used) {
		verdict = http_request_take(r, data + at, len - at, &used, out);
		assert_true(used <= len - at);
		if (verdict == HTTP_REQUEST_REFUSED)
			break;
		if (verdict == HTTP_REQUEST_HEAD && r->connect)
			buf_fmt(out, "tunnel to %s", r->authority);
		else if (verdict == HTTP_REQUEST_HEAD)
			http_request_pass(r, "up.example", false, ADDED, added,
			    out);
	}
	return verdict;
}

/* Feeds it in portions of `step` bytes, the first one of `first`. */
static enum http_request_verdict
feed_portions(const char *sent, size_t len, size_t first, size_t step,
    struct buf *out)
{
	enum http_request_verdict verdict = HTTP_REQUEST_MORE;
	struct http_request r;
	size_t n = first;

	http_request_begin(&r);
	for (size_t at = 0; at < len && verdict != HTTP_REQUEST_REFUSED;
	     at += n, n = step) {
		if (n > len - at)
			n = len - at;
		if (n > 0)
			verdict = feed(&r, sent + at, n, 0, out);
	}
	http_request_free(&r);
	return verdict;
}

static void
check_sample(const struct sample *s, size_t first, size_t step)
{
	auto_buf struct buf out = { 0 };
	enum http_request_verdict verdict;

	buf_str(&out, "");
	verdict = feed_portions(s->sent, strlen(s->sent), first, step, &out);
	if (verdict != s->verdict || strcmp(out.data, s->passed) != 0)
		fail_msg("cut at %zu, verdict %d:\n%s\n---\n%s", first,
		    (int)verdict, s->sent, out.data);
}

static void
a_request_passes_in_one_meaning_or_not_at_all(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(SAMPLES); i++) {
		size_t len = strlen(SAMPLES[i].sent);

		for (size_t at = 0; at <= len; at++)
			check_sample(&SAMPLES[i], at, len);
		check_sample(&SAMPLES[i], 1, 1);
	}
}

/* The parser skips some letters of "HTTP"; headers and target it does not. */
static void
a_nul_never_passes(void **state)
{
	static const char SENT_WHOLE[] =
	    "GET /a HTTP/1.1\r\nHost: a.example\r\nA: b\r\n\r\n";
	static const char PASSED[] = "GET /a" TO_UP "A: b\r\n" KEEP;
	const char *version = strstr(SENT_WHOLE, "HTTP");

	(void)state;
	for (size_t i = 0; i + 1 < sizeof(SENT_WHOLE); i++) {
		auto_buf struct buf out = { 0 };
		char sent[sizeof(SENT_WHOLE)];
		enum http_request_verdict verdict;

		memcpy(sent, SENT_WHOLE, sizeof(sent));
		sent[i] = '\0';
		verdict = feed_portions(sent, sizeof(sent) - 1, sizeof(sent),
		    sizeof(sent), &out);
		if (verdict == HTTP_REQUEST_COMPLETE &&
		    SENT_WHOLE + i > version && SENT_WHOLE + i < version + 5)
			assert_string_equal(out.data, PASSED);
		else if (verdict != HTTP_REQUEST_REFUSED)
			fail_msg("byte %zu", i);
	}
}

/* A request in an array without a NUL at the end. */
#define SENT(text) (text), sizeof(text) - 1

static void
a_bad_body_ends_the_request(void **state)
{
	static const char *const BODIES[] = { "x\r\n", "-1\r\nh\r\n",
		"0x1\r\nh\r\n", "1\r\nhi\r\n", "\r\n1\r\nh\r\n", " 1\r\nh\r\n",
		"ffffffffffffffff1\r\n", "10000000000000000\r\n" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(BODIES); i++) {
		auto_buf struct buf out = { 0 };
		struct http_request r;

		http_request_begin(&r);
		assert_int_equal(
		    feed(&r, SENT(POST "Transfer-Encoding: chunked\r\n\r\n"), 0,
			&out),
		    HTTP_REQUEST_MORE);
		if (feed(&r, BODIES[i], strlen(BODIES[i]), 0, &out) !=
		    HTTP_REQUEST_REFUSED)
			fail_msg("%s", BODIES[i]);
		/* the end of the body is never written */
		assert_null(strstr(out.data, "\r\n0\r\n"));
		/* and nothing follows a refused request */
		assert_int_equal(feed(&r, SENT(SMUGGLED), 0, &out),
		    HTTP_REQUEST_REFUSED);
		assert_null(strstr(out.data, "smuggled"));
		http_request_free(&r);
	}
}

static void
a_refused_request_stays_refused(void **state)
{
	static const char *const SENT_FIRST[] = { "x", "GET x y",
		GET "Host: b\r\n\r\n", GET "A b: c\r\n\r\n" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(SENT_FIRST); i++) {
		auto_buf struct buf out = { 0 };
		struct http_request r;
		size_t used;

		http_request_begin(&r);
		assert_int_equal(feed(&r, SENT_FIRST[i], strlen(SENT_FIRST[i]),
				     0, &out),
		    HTTP_REQUEST_REFUSED);
		for (int k = 0; k < 2; k++)
			assert_int_equal(feed(&r, SENT(SMUGGLED), 0, &out),
			    HTTP_REQUEST_REFUSED);
		assert_int_equal(http_request_take(&r, "", 0, &used, &out),
		    HTTP_REQUEST_REFUSED);
		assert_int_equal(out.len, 0);
		http_request_free(&r);
	}
}

/* A head for each byte would cost much more than the byte. */
static void
chunks_that_arrive_together_leave_as_one(void **state)
{
	auto_buf struct buf out = { 0 };
	struct http_request r;

	(void)state;
	http_request_begin(&r);
	assert_int_equal(
	    feed(&r, SENT(POST "Transfer-Encoding: chunked\r\n\r\n"), 0, &out),
	    HTTP_REQUEST_MORE);
	out.len = 0;
	assert_int_equal(feed(&r, SENT("1\r\nh\r\n2\r\nel\r\n1\r\nl\r\n"), 0,
			     &out),
	    HTTP_REQUEST_MORE);
	assert_string_equal(out.data, "4\r\nhell\r\n");
	out.len = 0;
	assert_int_equal(feed(&r, SENT("1\r\no\r\n0\r\n\r\n"), 0, &out),
	    HTTP_REQUEST_COMPLETE);
	assert_string_equal(out.data, "1\r\no\r\n0\r\n\r\n");
	http_request_free(&r);
}

static void
an_empty_portion_changes_nothing(void **state)
{
	auto_buf struct buf out = { 0 };
	struct http_request r;
	size_t used = 1;

	(void)state;
	http_request_begin(&r);
	assert_int_equal(http_request_take(&r, "", 0, &used, &out),
	    HTTP_REQUEST_MORE);
	assert_int_equal(used, 0);
	assert_int_equal(feed(&r, SENT("GET / HT"), 0, &out),
	    HTTP_REQUEST_MORE);
	assert_int_equal(http_request_take(&r, "", 0, &used, &out),
	    HTTP_REQUEST_MORE);
	assert_int_equal(feed(&r, SENT("TP/1.1\r\n" HOST "\r\n"), 0, &out),
	    HTTP_REQUEST_COMPLETE);
	assert_string_equal(out.data, "GET /" TO_UP KEEP);
	http_request_free(&r);
}

static void
an_added_header_replaces_those_of_the_client(void **state)
{
	static const char *const HEADERS[] = { "X-Api-Key: mine\r\n",
		"x-api-key: mine\r\n", "X-API-KEY:mine\r\n",
		"A: b\r\nx-Api-kEy: mine\r\nC: d\r\nX-Api-Key: mine\r\n",
		"Authorization: mine\r\nAUTHORIZATION: mine\r\n",
		"Connection: X-Api-Key\r\n" };
	static const char OTHERS[] =
	    "X-Api-Key-2: other\r\nX-Api: other\r\nA: X-Api-Key: other\r\n";

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(HEADERS); i++) {
		auto_buf struct buf out = { 0 }, sent = { 0 };
		struct http_request r;

		buf_fmt(&sent, GET "%s\r\n", HEADERS[i]);
		http_request_begin(&r);
		assert_int_equal(feed(&r, sent.data, sent.len, ARRAY_LEN(ADDED),
				     &out),
		    HTTP_REQUEST_COMPLETE);
		if (strstr(out.data, "mine") != NULL ||
		    strstr(out.data, "X-Api-Key: s3cret\r\n") == NULL ||
		    strstr(out.data, "authorization: s3cret\r\n") == NULL)
			fail_msg("%s", out.data);
		http_request_free(&r);
	}
	/* a name that only begins the same is another one */
	{
		auto_buf struct buf out = { 0 }, sent = { 0 };
		struct http_request r;

		buf_fmt(&sent, GET "%s\r\n", OTHERS);
		http_request_begin(&r);
		assert_int_equal(feed(&r, sent.data, sent.len, ARRAY_LEN(ADDED),
				     &out),
		    HTTP_REQUEST_COMPLETE);
		assert_non_null(strstr(out.data, OTHERS));
		http_request_free(&r);
	}
}

/* Feeds GET, `line` `count` times, and the end. */
static enum http_request_verdict
feed_lines(const char *line, size_t count, bool *too_large)
{
	auto_buf struct buf sent = { 0 }, out = { 0 };
	enum http_request_verdict verdict;
	struct http_request r;

	buf_str(&sent, GET);
	for (size_t i = 0; i < count; i++)
		buf_str(&sent, line);
	buf_str(&sent, "\r\n");
	http_request_begin(&r);
	verdict = feed(&r, sent.data, sent.len, 0, &out);
	*too_large = r.too_large;
	http_request_free(&r);
	return verdict;
}

static void
size_and_number_are_bounded(void **state)
{
	static char line[HTTP_HEAD_MAX + 1000];
	bool too_large;

	(void)state;
	assert_int_equal(feed_lines("A: b\r\n", HTTP_HEADERS_MAX - 1,
			     &too_large),
	    HTTP_REQUEST_COMPLETE);
	assert_int_equal(feed_lines("A: b\r\n", HTTP_HEADERS_MAX, &too_large),
	    HTTP_REQUEST_REFUSED);
	assert_true(too_large);
	snprintf(line, sizeof(line), "A: %04096d\r\n", 0);
	assert_int_equal(feed_lines(line, 15, &too_large),
	    HTTP_REQUEST_COMPLETE);
	assert_int_equal(feed_lines(line, 16, &too_large),
	    HTTP_REQUEST_REFUSED);
	assert_true(too_large);
	assert_int_equal(feed_lines(line, 30, &too_large),
	    HTTP_REQUEST_REFUSED);
	assert_true(too_large);
	/* one long value, one long name, one long run of spaces */
	snprintf(line, sizeof(line), "A: %0*d\r\n", HTTP_HEAD_MAX + 1, 0);
	assert_int_equal(feed_lines(line, 1, &too_large), HTTP_REQUEST_REFUSED);
	assert_true(too_large);
	snprintf(line, sizeof(line), "%0*d: b\r\n", HTTP_HEAD_MAX + 1, 0);
	assert_int_equal(feed_lines(line, 1, &too_large), HTTP_REQUEST_REFUSED);
	assert_true(too_large);
	snprintf(line, sizeof(line), "A:%*s\r\n", HTTP_HEAD_MAX / 2, "");
	assert_int_equal(feed_lines(line, 3, &too_large), HTTP_REQUEST_REFUSED);
	assert_true(too_large);
	/* a malformed header is not a large one */
	assert_int_equal(feed_lines("A b: c\r\n", 1, &too_large),
	    HTTP_REQUEST_REFUSED);
	assert_false(too_large);
}

static void
a_long_target_is_too_large(void **state)
{
	(void)state;
	for (int more = 0; more < 2; more++) {
		auto_buf struct buf sent = { 0 }, out = { 0 };
		struct http_request r;

		buf_fmt(&sent, "GET /%0*d HTTP/1.1\r\n" HOST "\r\n",
		    HTTP_TARGET_MAX - 1 + more, 0);
		http_request_begin(&r);
		assert_int_equal(feed(&r, sent.data, sent.len, 0, &out),
		    more ? HTTP_REQUEST_REFUSED : HTTP_REQUEST_COMPLETE);
		assert_int_equal(r.too_large, more);
		http_request_free(&r);
	}
}

static void
a_head_says_what_was_asked(void **state)
{
	static const struct {
		const char *sent, *host, *authority;
		bool https, wants_continue, wants_upgrade, keeps;
	} CASES[] = {
		{ GET "\r\n", "a.example", "", false, false, false, true },
		{ GET "Connection: close\r\n\r\n", "a.example", "", false,
		    false, false, false },
		{ "GET / HTTP/1.0\r\n\r\n", "", "", false, false, false,
		    false },
		{ "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "", "",
		    false, false, false, true },
		/* the target and Host differ: both are told */
		{ "GET http://b.example:81/ HTTP/1.1\r\n" HOST "\r\n",
		    "a.example", "b.example:81", false, false, false, true },
		{ "GET hTTps://u:p@b.example/ HTTP/1.1\r\n" HOST "\r\n",
		    "a.example", "u:p@b.example", true, false, false, true },
		{ POST "Expect: 100-continue\r\nContent-Length: 1\r\n\r\n",
		    "a.example", "", false, true, false, true },
		{ GET "Upgrade: websocket\r\nConnection: upgrade\r\n\r\n",
		    "a.example", "", false, false, true, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		auto_buf struct buf out = { 0 };
		struct http_request r;
		size_t used;

		http_request_begin(&r);
		assert_int_equal(http_request_take(&r, CASES[i].sent,
				     strlen(CASES[i].sent), &used, &out),
		    HTTP_REQUEST_HEAD);
		assert_string_equal(r.host, CASES[i].host);
		assert_string_equal(r.authority, CASES[i].authority);
		assert_int_equal(r.https, CASES[i].https);
		assert_int_equal(r.wants_continue, CASES[i].wants_continue);
		assert_int_equal(r.wants_upgrade, CASES[i].wants_upgrade);
		assert_int_equal(http_request_keeps(&r), CASES[i].keeps);
		http_request_free(&r);
	}
}

static void
a_request_forgets_the_one_before(void **state)
{
	static const char FIRST[] =
	    "POST https://b.example/ HTTP/1.1\r\n" HOST
	    "Expect: 100-continue\r\nUpgrade: websocket\r\nConnection: upgrade\r\n"
	    "X: y\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
	auto_buf struct buf out = { 0 };
	struct http_request r;
	size_t used;

	(void)state;
	http_request_begin(&r);
	assert_int_equal(feed(&r, SENT(FIRST), 0, &out), HTTP_REQUEST_COMPLETE);
	out.len = 0;
	assert_int_equal(http_request_take(&r,
			     SENT("GET / HTTP/1.1\r\nHost: c.example\r\n\r\n"),
			     &used, &out),
	    HTTP_REQUEST_HEAD);
	assert_string_equal(r.host, "c.example");
	assert_string_equal(r.authority, "");
	assert_false(r.https || r.wants_continue || r.wants_upgrade);
	http_request_pass(&r, "c.example", true, NULL, 0, &out);
	assert_string_equal(out.data,
	    "GET / HTTP/1.1\r\nHost: c.example\r\nConnection: close\r\n\r\n");
	http_request_free(&r);
}

static void
bytes_after_connect_are_not_parsed(void **state)
{
	static const char TEXT[] =
	    "CONNECT a.example:443 HTTP/1.1\r\n" HOST "\r\n\x16\x03\x01";
	auto_buf struct buf out = { 0 };
	struct http_request r;
	size_t used, more;

	(void)state;
	http_request_begin(&r);
	assert_int_equal(http_request_take(&r, SENT(TEXT), &used, &out),
	    HTTP_REQUEST_HEAD);
	assert_true(r.connect);
	assert_int_equal(http_request_take(&r, TEXT + used,
			     sizeof(TEXT) - 1 - used, &more, &out),
	    HTTP_REQUEST_COMPLETE);
	assert_int_equal(TEXT[used + more], 0x16);
	http_request_free(&r);
}

static void
an_authority_is_a_host_and_a_port(void **state)
{
	static const struct {
		const char *text, *host; /* NULL: it is none */
		uint16_t port;
	} CASES[] = {
		{ "a.example", "a.example", 80 },
		{ "a.example:443", "a.example", 443 },
		{ "a.example:1", "a.example", 1 },
		{ "a.example:65535", "a.example", 65535 },
		{ "[2001:db8::1]", "2001:db8::1", 80 },
		{ "[2001:db8::1]:8080", "2001:db8::1", 8080 },
		{ "192.0.2.1:22", "192.0.2.1", 22 },
		{ "", NULL, 0 },
		{ ":80", NULL, 0 },
		{ "a.example:", NULL, 0 },
		{ "a.example:0", NULL, 0 },
		{ "a.example:65536", NULL, 0 },
		{ "a.example:-1", NULL, 0 },
		{ "a.example:+80", NULL, 0 },
		{ "a.example: 80", NULL, 0 },
		{ "a.example:80 ", NULL, 0 },
		{ "a.example:0x50", NULL, 0 },
		{ "a.example:80:80", NULL, 0 },
		{ "a.example:80/path", NULL, 0 },
		{ "a.example:80@b.example", NULL, 0 },
		{ "user:pw@b.example:80", NULL, 0 },
		{ "2001:db8::1", NULL, 0 },
		{ "::1", NULL, 0 },
		{ "[]", NULL, 0 },
		{ "[]:80", NULL, 0 },
		{ "[a.example]:80", NULL, 0 },
		{ "[127.0.0.1]:80", NULL, 0 },
		{ "[::1", NULL, 0 },
		{ "[::1]80", NULL, 0 },
		{ "[::1]a.example", NULL, 0 },
		{ "[::1]:", NULL, 0 },
		{ "[::1]:0", NULL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		const char *host;
		size_t len = 0;
		uint16_t port = 0;
		bool is = http_authority(CASES[i].text, 80, &host, &len, &port);

		if (is != (CASES[i].host != NULL))
			fail_msg("\"%s\"", CASES[i].text);
		if (!is)
			continue;
		assert_int_equal(len, strlen(CASES[i].host));
		assert_memory_equal(host, CASES[i].host, len);
		assert_int_equal(port, CASES[i].port);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_passes_in_one_meaning_or_not_at_all),
		cmocka_unit_test(a_nul_never_passes),
		cmocka_unit_test(a_bad_body_ends_the_request),
		cmocka_unit_test(a_refused_request_stays_refused),
		cmocka_unit_test(chunks_that_arrive_together_leave_as_one),
		cmocka_unit_test(an_empty_portion_changes_nothing),
		cmocka_unit_test(an_added_header_replaces_those_of_the_client),
		cmocka_unit_test(size_and_number_are_bounded),
		cmocka_unit_test(a_long_target_is_too_large),
		cmocka_unit_test(a_head_says_what_was_asked),
		cmocka_unit_test(a_request_forgets_the_one_before),
		cmocka_unit_test(bytes_after_connect_are_not_parsed),
		cmocka_unit_test(an_authority_is_a_host_and_a_port),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
