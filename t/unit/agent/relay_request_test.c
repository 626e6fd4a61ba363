/*
 * relay_request_test.c: tests that the relay tells HEAD requests, upgrades,
 * probes and page views apart.
 */
#include "../unit.h"

#include <string.h>

#include "agent/relay/request.h"
#include "common/mem.h"

#define GET "GET / HTTP/1.1\r\nHost: x\r\n"

static void
what_nginx_says_is_heard_and_nothing_else(void **state)
{
	static const struct {
		const char *text;
		struct relay_request want;
	} CASES[] = {
		{ GET "\r\n", { 0 } },
		{ "HEAD / HTTP/1.1\r\n\r\n", { .head = true } },
		{ "HEADY / HTTP/1.1\r\n\r\n", { 0 } },
		{ "HEAD", { 0 } },
		{ GET "Upgrade: websocket\r\nConnection: upgrade\r\n\r\n",
		    { .upgrade = true } },
		{ GET "Upgrade: websocket\r\n", { .upgrade = true } },
		{ GET "Upgrade: h2c\r\n\r\n", { 0 } },
		{ GET "Upgrade: websocket", { 0 } },
		{ GET "X-Upgrade: websocket\r\n\r\n", { 0 } },
		{ "GET /upgrade: websocket\r\n\r\n", { 0 } },
		{ GET "\r\nUpgrade: websocket\r\nX-Sandlease-Probe: 1\r\n\r\n",
		    { 0 } },
		{ GET "X-Sandlease-Probe: 1\r\n\r\n", { .probe = true } },
		{ GET "X-Sandlease-Probe: 10\r\n\r\n", { 0 } },
		{ GET "Accept: text/html,*/*\r\n\r\n", { .page = true } },
		{ GET "accept:TEXT/HTML;q=0.9", { .page = true } },
		{ GET "Accept: */*\r\n\r\n", { 0 } },
		{ GET "Accept: application/json, text/html\r\n\r\n", { 0 } },
		{ GET "X-Accept: text/html\r\n\r\n", { 0 } },
		{ GET "\r\nAccept: text/html\r\n\r\n", { 0 } },
		{ GET "Upgrade: websocket\r\nAccept: text/html\r\n\r\n",
		    { .upgrade = true } },
		{ GET "X-Forwarded-Prefix: /v1/sessions/x/proxy/1\r\n"
		      "Accept: text/html\r\n\r\n",
		    { 0 } },
		{ GET "X-Forwarded-Prefix: /p/x\r\n"
		      "Accept: text/html\r\n\r\n",
		    { .page = true } },
		{ "", { 0 } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		struct relay_request r =
		    relay_request_read(CASES[i].text, strlen(CASES[i].text));
		const struct relay_request *w = &CASES[i].want;

		if (r.head != w->head || r.upgrade != w->upgrade ||
		    r.probe != w->probe || r.page != w->page)
			fail_msg("%s", CASES[i].text);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_nginx_says_is_heard_and_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
