/* answer_test.c: tests what is known of a stream's answer, and its end. */
#include "../unit.h"

#include <string.h>

#include "api/stream/answer.h"
#include "common/json.h"
#include "common/mem.h"

static const char HEAD[] =
    "Status: 200 OK\r\n"
    "content-TYPE:  text/event-stream; charset=x\r\n"
    "X: a line that is longer than anybody looks at, by far, really\r\n"
    "\r\n";

/* Feeds the text in two portions, cut at `at`. */
static struct stream_answer
see(const char *text, size_t at)
{
	struct stream_answer a = { 0 };

	answer_see(&a, text, at);
	answer_see(&a, text + at, strlen(text) - at);
	return a;
}

static void
an_event_stream_is_known_by_its_type(void **state)
{
	static const struct {
		const char *text;
		bool streams;
	} CASES[] = {
		{ HEAD, true },
		{ "Content-Type: text/event-stream\n\n", true },
		{ "Content-Type: text/event-stream\r\n", false },
		{ "Content-Type: application/json\r\n\r\n", false },
		{ "X-Content-Type: text/event-stream\r\n\r\n", false },
		{ "X: 1\r\n\r\nContent-Type: text/event-stream\r\n\r\n",
		    false },
		{ "\r\n", false },
		{ "", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
		for (size_t at = 0; at <= strlen(CASES[i].text); at++) {
			struct stream_answer a = see(CASES[i].text, at);

			assert_int_equal(answer_streams(&a), CASES[i].streams);
		}
}

static void
a_comment_may_stand_between_events_only(void **state)
{
	static const struct {
		const char *body;
		bool between;
	} CASES[] = {
		{ "", true },
		{ "data: 1\n\n", true },
		{ "data: 1\n\n\n", true },
		{ "data: 1\n\n: ka\n\n", true },
		{ "data: 1\n", false },
		{ "data: 1", false },
		{ "data: 1\n\nd", false },
		{ "data: 1\n\ndata: 2\n", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		auto_free char *text = xasprintf("%s%s", HEAD, CASES[i].body);

		for (size_t at = 0; at <= strlen(text); at++) {
			struct stream_answer a = see(text, at);

			assert_int_equal(answer_between_events(&a),
			    CASES[i].between);
		}
	}
}

static void
the_last_words_stand_alone_and_suit_every_stream(void **state)
{
	static const char *const MEMBERS[] = { "error", "data", "evalue" };
	auto_free char *text = xasprintf("%sdata: {\"ty", HEAD);
	struct stream_answer a = see(text, 0), whole = see(HEAD, 0);
	auto_buf struct buf cut = { 0 };
	auto_buf struct buf clean = { 0 };
	auto_json json_t *event = NULL;
	struct err e = { 0 };

	(void)state;
	answer_last_words(&a, CODE_SESSION_TERMINATED, "gone", &cut);
	assert_memory_equal(cut.data, "\n\ndata: {", 9);
	answer_last_words(&whole, CODE_SESSION_TERMINATED, "gone", &clean);
	assert_memory_equal(clean.data, "data: {", 7);
	assert_string_equal(clean.data + clean.len - 2, "\n\n");
	assert_int_equal(json_parse(clean.data + 6, clean.len - 6, &event, &e),
	    0);
	assert_string_equal(json_str(event, "type"), "error");
	assert_string_equal(json_str(event, "code"), "SESSION_TERMINATED");
	for (size_t i = 0; i < ARRAY_LEN(MEMBERS); i++)
		assert_string_equal(json_str(event, MEMBERS[i]), "gone");
	assert_true(json_is_array(json_object_get(event, "traceback")));
	assert_true(strlen(json_str(event, "timestamp")) > 0);
}

static void
busy_is_a_whole_answer(void **state)
{
	auto_buf struct buf out = { 0 };
	auto_json json_t *body = NULL;
	const char *at;
	struct err e = { 0 };

	(void)state;
	answer_busy("later", &out);
	assert_memory_equal(out.data, "Status: 503 ", 12);
	at = strstr(out.data, "\r\n\r\n");
	assert_non_null(at);
	assert_int_equal(json_parse(at + 4, strlen(at + 4), &body, &e), 0);
	assert_string_equal(json_str(body, "code"), "CONTAINER_UNAVAILABLE");
	assert_string_equal(json_str(body, "message"), "later");
	assert_string_equal(json_str(body, "error"), "later");
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
		cmocka_unit_test(an_event_stream_is_known_by_its_type),
		cmocka_unit_test(a_comment_may_stand_between_events_only),
		cmocka_unit_test(
		    the_last_words_stand_alone_and_suit_every_stream),
		cmocka_unit_test(busy_is_a_whole_answer),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
