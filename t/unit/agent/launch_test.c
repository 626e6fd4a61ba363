/* launch_test.c: tests the message that asks init for a wrapper. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "agent/cell/launch.h"
#include "common/mem.h"

#define WHO "\"session\":\"abcdefghij0123456789\",\"instance\":\"i1\""

static void
what_is_wrong_is_named(void **state)
{
	static const struct {
		const char *text, *field;
	} CASES[] = {
		{ "{}", "session" },
		{ "{\"session\":\"ABCDEFGHIJ0123456789\",\"instance\":\"i\","
		  "\"generation\":1}",
		    "session" },
		{ "{" WHO "}", "generation" },
		{ "{" WHO ",\"generation\":0}", "generation" },
		{ "{" WHO ",\"generation\":1,\"ports\":[0]}", "ports" },
		{ "{" WHO ",\"generation\":1,\"ports\":[\"80\"]}", "ports" },
		{ "{" WHO ",\"generation\":1,\"env\":{\"a b\":\"x\"}}", "env" },
		{ "{" WHO ",\"generation\":1,\"env\":{\"a\":1}}", "env" },
		{ "{" WHO ",\"generation\":1,\"env\":{\"a\":\"\\u0000\"}}",
		    "env" },
		{ "{" WHO ",\"generation\":1,\"tmpMb\":-1}", "tmpMb" },
		{ "{" WHO ",\"generation\":1,\"logLevel\":\"loud\"}",
		    "logLevel" },
		{ "{\"session\":\"abcdefghij0123456789\","
		  "\"instance\":\"../x\",\"generation\":1}",
		    "instance" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		auto_json json_t *msg = NULL;
		struct err e = { 0 };
		struct launch l;

		assert_int_equal(json_parse(CASES[i].text,
				     strlen(CASES[i].text), &msg, &e),
		    0);
		assert_int_equal(launch_decode(msg, &l, &e), -1);
		assert_string_equal(e.field, CASES[i].field);
	}
}

static void
a_message_is_taken_with_what_it_says(void **state)
{
	static const char TEXT[] =
	    "{" WHO ",\"generation\":7,\"env\":{\"A\":\"b\"},\"pids\":10,"
	    "\"user\":{\"name\":\"ann\"},\"ports\":[80,8080],"
	    "\"cgroups\":2,\"logLevel\":\"debug\",\"unknown\":1}";
	auto_json json_t *msg = NULL;
	struct err e = { 0 };
	struct launch l;

	(void)state;
	assert_int_equal(json_parse(TEXT, sizeof(TEXT) - 1, &msg, &e), 0);
	assert_int_equal(launch_decode(msg, &l, &e), 0);
	assert_int_equal(l.generation, 7);
	assert_int_equal(l.port_count, 2);
	assert_int_equal(l.ports[1], 8080);
	assert_int_equal(l.cgroups, 2);
	assert_int_equal(l.log_level, LOG_DEBUG);
	assert_string_equal(l.user, "ann");
	assert_int_equal(json_object_size(l.env), 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_wrong_is_named),
		cmocka_unit_test(a_message_is_taken_with_what_it_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
