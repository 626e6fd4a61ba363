/* ticket_test.c: tests where a ticket is valid, and the addresses it is for. */
#include "../unit.h"

#include <string.h>

#include "../web/fake_io.h"
#include "api/gate/ticket.h"
#include "common/mem.h"

#define SESSION "abcdefghijklmnopqrst"
#define BASE "/v1/sessions/" SESSION "/"
#define TICKET "abcdefghijklmnopqrstuvwx27"
#define LONG TICKET TICKET TICKET TICKET TICKET

/* The given headers and the wanted credential: "" nothing, "!" refused. */
struct ticket_case {
	const char *path, *upgrade, *ticket, *key, *cookie;
	const char *want;
	enum credential_kind kind;
};

static const struct ticket_case CASES[] = {
	{ BASE "ws/pty", "websocket", TICKET, "", "", TICKET,
	    CREDENTIAL_TICKET },
	{ BASE "ws", "WebSocket", TICKET, "", "", TICKET, CREDENTIAL_TICKET },
	{ BASE "api/ws", "websocket", TICKET, "", "", TICKET,
	    CREDENTIAL_TICKET },
	/* a browser always sends the cookie, so the ticket wins */
	{ BASE "ws/pty", "websocket", TICKET, "", "sandlease=tok", TICKET,
	    CREDENTIAL_TICKET },
	{ BASE "ws/pty", "websocket", "", "", "sandlease=tok", "tok",
	    CREDENTIAL_LOGIN },
	{ BASE "ws/pty", "websocket", "", "sl_key", "", "sl_key",
	    CREDENTIAL_KEY },
	{ BASE "ws/pty", "websocket", TICKET, "sl_key", "", "!",
	    CREDENTIAL_KEY },
	{ BASE "ws/pty", "websocket", LONG, "", "", "!", CREDENTIAL_KEY },
	{ BASE "ws/pty", "websocket", LONG, "", "sandlease=tok", "!",
	    CREDENTIAL_KEY },
	/* not a WebSocket */
	{ BASE "ws/pty", "", TICKET, "", "", "", CREDENTIAL_KEY },
	{ BASE "ws/pty", "h2c", TICKET, "", "", "", CREDENTIAL_KEY },
	{ BASE "ws/pty", "", TICKET, "sl_key", "", "sl_key", CREDENTIAL_KEY },
	/* elsewhere `ticket` is an ordinary parameter of the query */
	{ BASE "proxy/8080/", "websocket", TICKET, "sl_key", "", "sl_key",
	    CREDENTIAL_KEY },
	{ BASE "proxy/8080/", "websocket", TICKET, "", "", "", CREDENTIAL_KEY },
	{ BASE "api/execute", "websocket", TICKET, "", "", "", CREDENTIAL_KEY },
	{ BASE "ws/pty/", "websocket", TICKET, "", "", "", CREDENTIAL_KEY },
	{ BASE "ws/ptyx", "websocket", TICKET, "", "", "", CREDENTIAL_KEY },
	{ BASE "", "websocket", TICKET, "", "", "", CREDENTIAL_KEY },
	{ "/v1/sessions/other/ws", "websocket", TICKET, "", "", "",
	    CREDENTIAL_KEY },
	{ "", "websocket", TICKET, "", "", "", CREDENTIAL_KEY },
};

static void
a_ticket_counts_where_a_websocket_begins(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		const struct ticket_case *t = &CASES[i];
		const char *const params[] = { "SL_SESSION", SESSION,
			"SL_SCHEME", "http", "HTTP_UPGRADE", t->upgrade,
			"SL_TICKET", t->ticket, "HTTP_X_API_KEY", t->key,
			"HTTP_COOKIE", t->cookie, NULL };
		struct fake f = { .params = params };
		struct call c = fake_begin(&f, "GET", t->path);
		bool refused = strcmp(t->want, "!") == 0;
		char hash[TOKEN_HASH_HEX_MAX];
		struct credential got;
		struct err e = { 0 };
		int rc = ticket_credential(&c, &got, &e);

		if (rc != (refused ? -1 : 0) || got.kind != t->kind ||
		    got.given != (!refused && t->want[0] != '\0'))
			fail_msg("case %zu: %d, kind %d, given %d", i, rc,
			    (int)got.kind, got.given);
		if (refused)
			assert_int_equal(e.kind, ERR_UNAUTHENTICATED);
		if (got.given) {
			token_hash(t->want, hash);
			assert_string_equal(got.hash, hash);
		}
		fake_end(&f, &c);
	}
}

static void
a_path_says_what_a_ticket_must_be_for(void **state)
{
	static const struct {
		const char *path, *want;
	} PATHS[] = {
		{ BASE "ws/pty", "terminal" },
		{ BASE "ws", "ws" },
		{ BASE "api/ws", "ws" },
		{ BASE "api/ws/pty", "" },
		{ BASE "files/ws", "" },
		{ BASE, "" },
	};
	static const char *const PARAMS[] = { "SL_SESSION", SESSION, NULL };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(PATHS); i++) {
		struct fake f = { .params = PARAMS };
		struct call c = fake_begin(&f, "GET", PATHS[i].path);

		assert_string_equal(ticket_purpose(&c), PATHS[i].want);
		fake_end(&f, &c);
	}
}

static void
an_address_is_complete(void **state)
{
	static const struct {
		const char *public_url;
		enum ticket_for what;
		const char *ticket, *want;
	} ADDRESSES[] = {
		{ "http://127.0.0.1:8080", TICKET_TERMINAL, NULL,
		    "ws://127.0.0.1:8080" BASE "ws/pty?sessionId=default" },
		{ "https://s.example.com", TICKET_TERMINAL, "tt",
		    "wss://s.example.com" BASE
		    "ws/pty?sessionId=default&ticket=tt" },
		{ "https://s.example.com", TICKET_WS, NULL,
		    "wss://s.example.com" BASE "ws" },
		{ "http://s", TICKET_WS, "tt", "ws://s" BASE "ws?ticket=tt" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ADDRESSES); i++) {
		struct conf conf = { 0 };
		auto_free char *got = NULL;

		str_copy(conf.public_url, sizeof(conf.public_url),
		    ADDRESSES[i].public_url);
		got = ticket_socket_url(&conf, SESSION, ADDRESSES[i].what,
		    ADDRESSES[i].ticket);
		assert_string_equal(got, ADDRESSES[i].want);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_ticket_counts_where_a_websocket_begins),
		cmocka_unit_test(a_path_says_what_a_ticket_must_be_for),
		cmocka_unit_test(an_address_is_complete),
	};
	struct err e = { 0 };

	if (token_init(&e) < 0)
		return 1;
	return cmocka_run_group_tests_name("ticket", tests, NULL, NULL);
}
