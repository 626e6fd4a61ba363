/* ws_gate_test.c: tests which messages pass on /ws, and which do not. */
#include "../unit.h"

#include <string.h>

#include "api/stream/ws_gate.h"
#include "common/mem.h"
#include "web/records.h"

#define HEAD                                                                   \
	"GET /ws HTTP/1.1\r\nHost: localhost\r\n"                              \
	"X-Sandlease-Authorization: Bearer sl_secret\r\n"                      \
	"x-sandlease-target: unix:/run/s/a.7.sock\r\nUpgrade: websocket\r\n\r\n"
#define ASK(method, path)                                                      \
	"{\"type\":\"request\",\"id\":\"a\",\"method\":\"" method              \
	"\",\"path\":\"" path "\",\"body\":{\"port\":8080}}"
#define UPGRADED "HTTP/1.1 101 Switching Protocols\r\n\r\n"

static struct ws_gate *gate;

static void
take_head(const char *head)
{
	const char *data = head;
	size_t len = strlen(head);

	gate = xcalloc(1, sizeof(*gate));
	assert_int_equal(ws_gate_take_head(gate, &data, &len), 1);
	assert_int_equal(len, 0);
}

static int
begin(void **state)
{
	(void)state;
	take_head(HEAD);
	return 0;
}

static int
end(void **state)
{
	(void)state;
	ws_gate_free(gate);
	return 0;
}

/* True when the gate kept the message; `out` gets the bytes that passed. */
static bool
send_text(const char *text, struct buf *out)
{
	auto_buf struct buf frame = { 0 };
	const char *data;
	size_t len;

	ws_frames_add_text(&frame, text, strlen(text));
	data = frame.data;
	len = frame.len;
	return ws_gate_from_client(gate, &data, &len, out);
}

static void
what_is_ours_in_the_head_does_not_pass(void **state)
{
	auto_buf struct buf out = { 0 };
	char value[64], small[8];

	(void)state;
	ws_gate_pass_head(gate, &out);
	assert_string_equal(out.data,
	    "GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n\r\n");
	ws_gate_header(gate, "Authorization", value, sizeof(value));
	assert_string_equal(value, "Bearer sl_secret");
	ws_gate_header(gate, "Target", value, sizeof(value));
	assert_string_equal(value, "unix:/run/s/a.7.sock");
	ws_gate_header(gate, "Targe", value, sizeof(value));
	assert_string_equal(value, "");
	ws_gate_header(gate, "Target", small, sizeof(small));
	assert_string_equal(small, "");
}

static void
only_requests_for_ports_are_taken_out(void **state)
{
	static const struct {
		const char *text;
		bool ours;
	} CASES[] = {
		{ ASK("POST", "/api/expose-port"), true },
		{ ASK("GET", "/api/exposed-ports?session=a%20b"), true },
		{ ASK("DELETE", "/api/exposed-ports/8080"), true },
		{ ASK("DELETE", "/api/exposed-ports/-1"), true },
		{ ASK("POST", "/api/execute"), false },
		{ ASK("POST", "/api/expose-ports"), false },
		{ ASK("POST", "/api/expose-port/../execute"), false },
		{ ASK("POST", "/api/expose-port/%2e%2e"), false },
		{ ASK("POST", "/api/expose-port?a b"), false },
		{ ASK("POST", "/v1/api/expose-port"), false },
		{ ASK("post", "/api/expose-port"), false },
		{ "{\"type\":\"cancel\",\"id\":\"a\",\"path\":\"/api/expose-port\"}",
		    false },
		{ "{\"type\":\"request\",\"method\":\"GET\",\"path\":\"/api/exposed-ports\"}",
		    false },
		{ "/api/expose-port", false },
		{ "", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		auto_buf struct buf out = { 0 };

		assert_int_equal(send_text(CASES[i].text, &out), CASES[i].ours);
		assert_int_equal(gate->asked != NULL, CASES[i].ours);
		assert_int_equal(out.len,
		    CASES[i].ours ? 0
				  : strlen(CASES[i].text) +
			    (strlen(CASES[i].text) > 125 ? 4 : 2));
		json_release(&gate->asked);
	}
}

static void
without_a_credential_nothing_is_taken_out(void **state)
{
	auto_buf struct buf out = { 0 };

	(void)state;
	ws_gate_free(gate);
	take_head("GET /ws HTTP/1.1\r\nX-Sandlease-Target: x\r\n\r\n");
	assert_false(send_text(ASK("POST", "/api/expose-port"), &out));
	assert_true(out.len > 0);
}

static void
a_large_message_passes_as_it_comes(void **state)
{
	static char large[40000];
	auto_buf struct buf frame = { 0 }, out = { 0 };
	const char *data;
	size_t len = 30000;

	(void)state;
	memset(large, ' ', sizeof(large));
	memcpy(large, "/api/expose", 11);
	ws_frames_add_text(&frame, large, sizeof(large));
	data = frame.data;
	assert_false(ws_gate_from_client(gate, &data, &len, &out));
	assert_int_equal(out.len, 30000);
	len = frame.len - 30000;
	assert_false(ws_gate_from_client(gate, &data, &len, &out));
	assert_int_equal(out.len, frame.len);
	assert_memory_equal(out.data, frame.data, frame.len);
}

static void
has(const struct buf *params, const char *name, const char *value)
{
	struct records_param p;

	assert_true(records_param(params, name, &p));
	assert_int_equal(p.len, strlen(value));
	assert_memory_equal(p.value, value, p.len);
}

static void
it_is_asked_as_nginx_would(void **state)
{
	auto_buf struct buf params = { 0 }, out = { 0 };
	auto_free char *body = NULL;

	(void)state;
	assert_true(send_text(ASK("DELETE", "/api/exposed-ports/1?x=y"), &out));
	ws_gate_params(gate, "s1", &params);
	has(&params, "REQUEST_METHOD", "DELETE");
	has(&params, "REQUEST_URI", "/v1/sessions/s1/api/exposed-ports/1?x=y");
	has(&params, "SL_PATH", "/v1/sessions/s1/api/exposed-ports/1");
	has(&params, "QUERY_STRING", "x=y");
	has(&params, "SL_SURFACE", "data");
	has(&params, "HTTP_AUTHORIZATION", "Bearer sl_secret");
	has(&params, "CONTENT_LENGTH", "13");
	body = ws_gate_body(gate);
	assert_string_equal(body, "{\"port\":8080}");
	assert_false(ws_gate_only_reads(gate));
}

static void
answered(const char *cgi, const char *wanted)
{
	auto_buf struct buf text = { 0 }, out = { 0 }, none = { 0 };

	assert_true(send_text(ASK("POST", "/api/expose-port"), &none));
	if (cgi != NULL)
		buf_str(&text, cgi);
	ws_gate_answer(gate, cgi != NULL ? &text : NULL, &out);
	assert_null(gate->asked);
	assert_int_equal(out.len,
	    strlen(wanted) + (strlen(wanted) > 125 ? 4 : 2));
	assert_memory_equal(out.data + out.len - strlen(wanted), wanted,
	    strlen(wanted));
}

static void
an_answer_is_a_response_or_an_error(void **state)
{
	static const char LOST[] =
	    "{\"type\":\"error\",\"id\":\"a\",\"code\":\"CONNECTION_LOST\",\"message\":"
	    "\"The connection to the service was lost while it worked on this request; "
	    "look before you repeat it.\",\"status\":500}";
	static const char BUSY[] =
	    "{\"type\":\"error\",\"id\":\"a\",\"code\":\"CONTAINER_UNAVAILABLE\","
	    "\"message\":\"The service is busy or restarting; try again.\",\"status\":503}";
	auto_buf struct buf out = { 0 };

	(void)state;
	ws_gate_from_wrapper(gate, UPGRADED, strlen(UPGRADED), &out);
	answered("Status: 409 Conflict\r\nA: b\r\n\r\n{\"code\":\"X\"}",
	    "{\"type\":\"response\",\"id\":\"a\",\"status\":409,"
	    "\"body\":{\"code\":\"X\"},\"done\":true}");
	answered("Status: 204 No Content\r\n\r\n",
	    "{\"type\":\"response\",\"id\":\"a\",\"status\":204,\"done\":true}");
	answered(NULL, BUSY);
	answered("", LOST);
	answered("Status: 200 OK\r\n", LOST);
	answered("Status: 200 OK\r\n\r\nnot JSON", LOST);
}

static void
an_answer_waits_for_the_end_of_a_message(void **state)
{
	static const char FIRST[] = { 0x01, 1, 'x' },
			  PING[] = { (char)0x89, 0 };
	static const char LAST[] = { (char)0x80, 1, 'y' };
	auto_buf struct buf out = { 0 }, none = { 0 }, cgi = { 0 };
	size_t before;

	(void)state;
	buf_str(&cgi, "Status: 200 OK\r\n\r\n{}");
	ws_gate_from_wrapper(gate, UPGRADED, strlen(UPGRADED), &out);
	ws_gate_from_wrapper(gate, FIRST, sizeof(FIRST), &out);
	before = out.len;
	assert_true(send_text(ASK("POST", "/api/expose-port"), &none));
	ws_gate_answer(gate, &cgi, &out);
	assert_int_equal(out.len, before);
	ws_gate_from_wrapper(gate, PING, sizeof(PING), &out);
	assert_int_equal(out.len, before + sizeof(PING));
	ws_gate_from_wrapper(gate, LAST, sizeof(LAST), &out);
	assert_true(out.len > before + sizeof(PING) + sizeof(LAST));
	assert_memory_equal(out.data + before + sizeof(PING), LAST,
	    sizeof(LAST));
}

static void
what_is_no_websocket_is_not_looked_at(void **state)
{
	static const char REFUSED[] = "HTTP/1.1 429 No\r\n\r\n\x81\x7f rest";
	auto_buf struct buf out = { 0 }, passed = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(REFUSED) - 1; i++)
		ws_gate_from_wrapper(gate, REFUSED + i, 1, &out);
	assert_string_equal(out.data, REFUSED);
	assert_false(send_text(ASK("POST", "/api/expose-port"), &passed));
	assert_true(passed.len > 0);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(what_is_ours_in_the_head_does_not_pass),
		TEST(only_requests_for_ports_are_taken_out),
		TEST(without_a_credential_nothing_is_taken_out),
		TEST(a_large_message_passes_as_it_comes),
		TEST(it_is_asked_as_nginx_would),
		TEST(an_answer_is_a_response_or_an_error),
		TEST(an_answer_waits_for_the_end_of_a_message),
		TEST(what_is_no_websocket_is_not_looked_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
