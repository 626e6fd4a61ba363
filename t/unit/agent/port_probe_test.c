/* port_probe_test.c: tests the little of HTTP that a probe of a port speaks. */
#include "../unit.h"

#include <string.h>

#include "agent/relay/port_probe.h"
#include "common/mem.h"

static void
a_path_of_any_kind_makes_one_request_line(void **state)
{
	static const struct {
		const char *path, *line;
	} CASES[] = {
		{ "/", "GET / HTTP/1.1\r\n" },
		{ "", "GET / HTTP/1.1\r\n" },
		{ "health?x=1", "GET /health?x=1 HTTP/1.1\r\n" },
		{ "/a%20b#top", "GET /a%20b HTTP/1.1\r\n" },
		{ "/a b\r\nX: y", "GET /a%20b%0D%0AX:%20y HTTP/1.1\r\n" },
		{ "/\xc3\xa9\x7f", "GET /%C3%A9%7F HTTP/1.1\r\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		auto_buf struct buf b = { 0 };
		size_t len = strlen(CASES[i].line);

		port_probe_request(&b, 8080, CASES[i].path);
		assert_int_equal(strncmp(b.data, CASES[i].line, len), 0);
		assert_string_equal(b.data + len,
		    "Host: localhost:8080\r\nUser-Agent: sandlease\r\n"
		    "Accept: */*\r\nConnection: close\r\n\r\n");
	}
}

static void
a_status_is_read_as_soon_as_it_is_there(void **state)
{
	static const struct {
		const char *head;
		int want;
	} CASES[] = {
		{ "HTTP/1.1 200 OK\r\n", 200 },
		{ "HTTP/1.0 404\n", 404 },
		{ "HTTP/1.1 302 Found\r\nLocation: /x\r\n\r\nbody", 302 },
		{ "", 0 },
		{ "H", 0 },
		{ "HTTP/1.", 0 },
		{ "HTTP/1.1 200 O", 0 },
		{ "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\n",
		    201 },
		{ "HTTP/1.1 103 \r\nLink: x\r\n\r\nHTTP/1.1 100 \r\n\r\n", 0 },
		{ "HTTP/1.1 103 \r\nLink: x\r\n", 0 },
		{ "HTTP/1.1 103 \r\n\r\nSSH", -1 },
		{ "HTTP/1.1 101 Switching\r\n", 101 },
		{ "SSH-2.0-x", -1 },
		{ "\n", -1 },
		{ "HTTP/2 200\r\n", -1 },
		{ "HTTP/1.1\n", -1 },
		{ "HTTP/1.1 2x0 OK\r\n", -1 },
		{ "HTTP/1.1x200 OK\r\n", -1 },
		{ "HTTP/1.1 20\r\n", -1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		/* without room behind it, so that a read too far is found */
		auto_free char *head = NULL;
		size_t len = strlen(CASES[i].head);

		head = xmalloc(len > 0 ? len : 1);
		memcpy(head, CASES[i].head, len);
		if (port_probe_status(head, len) != CASES[i].want)
			fail_msg("%s: %d", CASES[i].head,
			    port_probe_status(head, len));
	}
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
		cmocka_unit_test(a_path_of_any_kind_makes_one_request_line),
		cmocka_unit_test(a_status_is_read_as_soon_as_it_is_there),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
