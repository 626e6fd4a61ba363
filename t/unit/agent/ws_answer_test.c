/* ws_answer_test.c: tests that output of routes becomes WebSocket messages. */
#include "t/unit/unit.h"

#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/ws/answer.h"
#include "common/mem.h"

#define HEAD(type) "Status: 200 OK\r\nContent-Type: " type "\r\n\r\n"
#define RESPONSE "{\"type\":\"response\",\"id\":\"a\",\"status\":200"
#define DONE ",\"done\":true}\n"

static struct ws_conn conn;
static struct ws_answer answer;
static int other = -1, status;

static int
begin(void **state)
{
	int ends[2];

	(void)state;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) < 0)
		return -1;
	other = ends[1];
	ws_conn_init(&conn, ends[0]);
	answer = (struct ws_answer){ 0 };
	status = 200;
	ws_answer_init(&answer, &conn, "a", &status);
	return 0;
}

static int
end(void **state)
{
	(void)state;
	ws_answer_free(&answer);
	ws_conn_free(&conn);
	close(take_fd(&other));
	return 0;
}

static int
put(const char *text)
{
	return ws_answer_write(&answer, text, strlen(text));
}

/* The messages so far, one per line; a close is shown as its code. */
static char *
said(void)
{
	auto_free char *p = xmalloc(1 + WSLINK_MAX);
	struct buf all = { 0 };
	ssize_t n;

	buf_str(&all, "");
	while ((n = recv(other, p, 1 + WSLINK_MAX, MSG_DONTWAIT)) > 0) {
		if ((p[0] & WSLINK_KIND) == WSLINK_CLOSE)
			buf_fmt(&all, "%d",
			    (unsigned char)p[1] << 8 | (unsigned char)p[2]);
		else
			buf_add(&all, p + 1, (size_t)n - 1);
		if ((p[0] & WSLINK_FIN) != 0)
			buf_str(&all, "\n");
	}
	return all.data;
}

static void
says(const char *wanted)
{
	auto_free char *got = said();

	assert_string_equal(got, wanted);
}

static void
json_becomes_the_body_as_it_is(void **state)
{
	(void)state;
	assert_int_equal(put("Status: 200 OK\r\nContent-"), 0);
	assert_int_equal(put("Type: application/json\r\n\r\n{\"x\""), 0);
	assert_int_equal(put(":1}"), 0);
	says("");
	ws_answer_finish(&answer);
	says(RESPONSE ",\"body\":{\"x\":1}" DONE);
}

static void
what_is_no_json_becomes_a_string(void **state)
{
	(void)state;
	put(HEAD("text/plain") "a\"\n\xff");
	ws_answer_finish(&answer);
	says(RESPONSE ",\"body\":\"a\\\"\\n\xef\xbf\xbd\"" DONE);
}

static void
nothing_is_no_body(void **state)
{
	(void)state;
	put("Status: 204 No Content\r\n\r\n");
	ws_answer_finish(&answer);
	says(RESPONSE DONE);
}

/* Reads in a thread, since the message is larger than the socket's buffer. */
static void *
read_one(void *arg)
{
	auto_free char *p = xmalloc(1 + WSLINK_MAX);
	struct buf *to = arg;

	do {
		ssize_t n = recv(other, p, 1 + WSLINK_MAX, 0);

		if (n <= 0)
			break;
		buf_add(to, p + 1, (size_t)n - 1);
	} while ((p[0] & WSLINK_FIN) == 0);
	return NULL;
}

static void
a_large_body_is_sent_as_it_comes(void **state)
{
	static const char BEGIN[] = RESPONSE ",\"body\":";
	static const char END[] = "2,\"done\":true}";
	static char much[100 * 1024];
	auto_buf struct buf got = { 0 };
	pthread_t reader;

	(void)state;
	memset(much, '1', sizeof(much));
	put(HEAD("application/json"));
	for (int i = 0; i < 2; i++)
		assert_int_equal(ws_answer_write(&answer, much, sizeof(much)),
		    0);
	says("");
	assert_int_equal(pthread_create(&reader, NULL, read_one, &got), 0);
	assert_int_equal(ws_answer_write(&answer, much, sizeof(much)), 0);
	atomic_store(&answer.cancelled, true);
	assert_int_equal(put("2"), 0); /* a message that was begun goes on */
	ws_answer_finish(&answer);
	pthread_join(reader, NULL);
	assert_int_equal(got.len,
	    sizeof(BEGIN) - 1 + sizeof(much) * 3 + sizeof(END) - 1);
	assert_memory_equal(got.data, BEGIN, sizeof(BEGIN) - 1);
	assert_string_equal(got.data + got.len - (sizeof(END) - 1), END);
}

static void
events_are_messages(void **state)
{
	(void)state;
	put(HEAD("text/event-stream"));
	says("");
	put("data: {\"a\":\"b\"}\n\n: ka\n\nevent: e\nda");
	put("ta: x\n\n");
	says(
	    "{\"type\":\"stream\",\"id\":\"a\",\"data\":\"{\\\"a\\\":\\\"b\\\"}\"}\n"
	    "{\"type\":\"stream\",\"id\":\"a\",\"event\":\"e\",\"data\":\"x\"}\n");
	ws_answer_finish(&answer);
	says(RESPONSE DONE);
}

static void
a_heartbeat_is_said_after_long_silence_only(void **state)
{
	static const char BEAT[] =
	    "{\"type\":\"stream\",\"id\":\"a\",\"event\":\"heartbeat\","
	    "\"data\":\"{\\\"type\\\":\\\"heartbeat\\\"}\"}\n";

	(void)state;
	put(HEAD("text/event-stream"));
	answer.spoke_ms -= 239 * 1000;
	put(": ka\n\n");
	says("");
	answer.spoke_ms -= 1000;
	put(": ka\n\n");
	says(BEAT);
	put(": ka\n\n");
	says("");
	answer.spoke_ms -= 240 * 1000;
	put("data: x\n\n: ka\n\n");
	says("{\"type\":\"stream\",\"id\":\"a\",\"data\":\"x\"}\n");
	atomic_store(&answer.cancelled, true);
	assert_int_equal(put(": ka\n\n"), -1);
}

static void
what_cannot_be_completed_is_an_error(void **state)
{
	(void)state;
	put(HEAD("text/event-stream"));
	ws_answer_cut(&answer);
	ws_answer_finish(&answer);
	says(
	    "{\"type\":\"error\",\"id\":\"a\",\"code\":\"STREAM_ERROR\","
	    "\"message\":\"the answer could not be completed\",\"status\":500}\n");
	assert_int_equal(put("x"), -1);
}

static void
who_has_not_answered_has_failed(void **state)
{
	(void)state;
	ws_answer_finish(&answer);
	says(
	    "{\"type\":\"error\",\"id\":\"a\",\"code\":\"INTERNAL_ERROR\","
	    "\"message\":\"the answer could not be completed\",\"status\":500}\n");
}

static void
half_a_message_ends_the_connection(void **state)
{
	(void)state;
	put(HEAD("application/json") "1");
	answer.stage = WS_BODY; /* as if more of the message were to come */
	ws_hold(&conn);
	ws_answer_cut(&answer);
	ws_answer_finish(&answer);
	says("1011");
}

static void
what_nobody_wants_is_not_sent(void **state)
{
	(void)state;
	put(HEAD("application/json") "{}");
	atomic_store(&answer.cancelled, true);
	assert_int_equal(put("x"), -1);
	ws_answer_finish(&answer);
	says("");
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(json_becomes_the_body_as_it_is),
		TEST(what_is_no_json_becomes_a_string),
		TEST(nothing_is_no_body),
		TEST(a_large_body_is_sent_as_it_comes),
		TEST(events_are_messages),
		TEST(a_heartbeat_is_said_after_long_silence_only),
		TEST(what_cannot_be_completed_is_an_error),
		TEST(who_has_not_answered_has_failed),
		TEST(half_a_message_ends_the_connection),
		TEST(what_nobody_wants_is_not_sent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
