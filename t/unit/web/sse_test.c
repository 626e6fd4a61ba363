/* sse_test.c: tests server-sent events. */
#include "../unit.h"

#include <string.h>

#include "fake_io.h"
#include "web/sse.h"

static void
each_event_is_one_line_and_sent_at_once(void **state)
{
	struct fake f = { 0 };
	struct call c = fake_begin(&f, "POST", "/");
	auto_json json_t *v = json_pack("{s:s}", "data", "a\nb");

	(void)state;
	sse_begin(&c);
	assert_int_equal(f.flushes, 1);
	assert_int_equal(sse_event(&c, v), 0);
	assert_int_equal(sse_heartbeat(&c), 0);
	assert_int_equal(f.flushes, 3);
	assert_string_equal(fake_answer_body(&f),
	    "data: {\"data\":\"a\\nb\"}\n\n: ka\n\n");
	assert_non_null(
	    strstr(f.out.data, "Content-Type: text/event-stream\r\n"));
	assert_non_null(strstr(f.out.data, "Cache-Control: no-cache\r\n"));
	fake_end(&f, &c);
}

static void
a_heartbeat_finds_out_who_has_left(void **state)
{
	struct fake f = { 0 };
	struct call c = fake_begin(&f, "POST", "/");
	auto_json json_t *v = json_object();

	(void)state;
	sse_begin(&c);
	f.gone = true;
	assert_int_equal(sse_heartbeat(&c), -1);
	assert_int_equal(sse_event(&c, v), -1);
	fake_end(&f, &c);
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
		cmocka_unit_test(each_event_is_one_line_and_sent_at_once),
		cmocka_unit_test(a_heartbeat_finds_out_who_has_left),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
