/* relay_page_test.c: tests the page that is shown when nothing listens. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "agent/relay/page.h"
#include "common/mem.h"

static const char TABLE[] =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when\n"
    "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000\n"
    "   1: 0100007F:0BB8 00000000:0000 0A 00000000:00000000 00:00000000\n"
    "   2: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000\n"
    "   3: 0100007F:270F 0100007F:C350 06 00000000:00000000 00:00000000\n";
static const char TABLE6[] =
    "  sl  local_address remote_address st tx_queue rx_queue\n"
    "   0: 00000000000000000000000001000000:1F90 "
    "00000000000000000000000000000000:0000 0A 00000000:00000000\n"
    "   1: 00000000000000000000000000000000:1388 "
    "00000000000000000000000000000000:0000 0A 00000000:00000000\n";

static void
listening_ports_are_found_once_and_in_order(void **state)
{
	struct port_list l = { 0 };

	(void)state;
	relay_page_parse(TABLE, &l);
	relay_page_parse(TABLE6, &l);
	assert_int_equal(l.count, 3);
	assert_int_equal(l.port[0], 3000);
	assert_int_equal(l.port[1], 5000);
	assert_int_equal(l.port[2], 8080);
}

static void
more_ports_than_fit_are_left_out(void **state)
{
	auto_buf struct buf text = { 0 };
	struct port_list l = { 0 };

	(void)state;
	for (int i = 0; i < 100; i++)
		buf_fmt(&text, "%4d: 0100007F:%04X 00000000:0000 0A 0\n", i,
		    9000 - i);
	relay_page_parse(text.data, &l);
	assert_int_equal(l.count, RELAY_PORTS_MAX);
	relay_page_parse("", &l);
	relay_page_parse("\n\n x", &l);
	assert_int_equal(l.count, RELAY_PORTS_MAX);
}

static void
the_response_is_complete(void **state)
{
	struct port_list l = { .port = { 80, 443 }, .count = 2 };

	(void)state;
	for (int i = 0; i < 4; i++) {
		auto_buf struct buf b = { 0 };
		const char *body, *length;
		bool page = i % 2 == 1, listening = i < 2;

		relay_page_write(&b, 8080, page, listening ? &l : NULL);
		body = strstr(b.data, "\r\n\r\n");
		length = strstr(b.data, "Content-Length: ");
		assert_non_null(body);
		assert_non_null(length);
		assert_int_equal(atoi(length + 16), strlen(body + 4));
		if (!listening)
			assert_non_null(strstr(body, "No valid HTTP response"));
		else if (page)
			assert_non_null(strstr(body, " 80 443"));
		else
			assert_non_null(strstr(body, "\"listening\":[80,443]"));
		assert_int_equal(page,
		    strstr(b.data, "Content-Security-Policy") != NULL);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(listening_ports_are_found_once_and_in_order),
		cmocka_unit_test(more_ports_than_fit_are_left_out),
		cmocka_unit_test(the_response_is_complete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
