/* story_test.c: tests the sentences that tell a session's events. */
#include "t/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/story.h"
#include "common/mem.h"

/* clang-format off */
/* An event, and its sentence after the time. */
static const struct {
	const char *event, *want;
} CASES[] = {
	{ "{\"kind\":\"network\",\"what\":\"denied\",\"reason\":\"not_allowed\",\"actor\":\"egress\",\"detail\":{\"host\":\"a.example\",\"port\":443,\"untold\":0}}",
	  "may not connect to a.example:443 (not_allowed), by egress" },
	{ "{\"kind\":\"network\",\"what\":\"denied\",\"reason\":\"not_allowed\",\"detail\":{\"host\":\"a.example\",\"port\":0}}",
	  "may not connect to a.example (not_allowed)" },
	{ "{\"kind\":\"network\",\"what\":\"denied\",\"reason\":\"packet\",\"detail\":{\"host\":\"2001:db8::1\",\"port\":443,\"detail\":\"udp\"}}",
	  "may not connect to [2001:db8::1]:443 (packet: udp)" },
	{ "{\"kind\":\"network\",\"what\":\"denied\",\"reason\":\"not_allowed\",\"detail\":{\"host\":\"2001:db8::1\",\"port\":0}}",
	  "may not connect to 2001:db8::1 (not_allowed)" },
	{ "{\"kind\":\"network\",\"what\":\"denied\",\"reason\":\"private_address\",\"detail\":{\"host\":\"a.example\",\"port\":80,\"detail\":\"10.0.0.1\"}}",
	  "may not connect to a.example:80 (private_address: 10.0.0.1)" },
	{ "{\"kind\":\"change\",\"what\":\"settings\",\"actor\":\"key:abc/demo\",\"detail\":{\"network\":{\"from\":null,\"to\":null},\"secrets\":{\"from\":[],\"to\":[]}}}",
	  "got other settings (network, secrets), by demo" },
	{ "{\"kind\":\"change\",\"what\":\"settings\",\"actor\":\"key:abc/demo\",\"detail\":{\"labels\":[\"team\"]}}",
	  "got other settings (labels), by demo" },
	{ "{\"kind\":\"change\",\"what\":\"env\",\"actor\":\"key:abc/demo\",\"detail\":{\"env\":[\"A\"]}}",
	  "got other variables, by demo" },
	{ "{\"kind\":\"change\",\"what\":\"settings\",\"actor\":\"key:abc/demo\"}",
	  "got other settings, by demo" },
	{ "{\"kind\":\"state\",\"what\":\"asleep\",\"reason\":\"idle\",\"actor\":\"reaper\"}",
	  "sleeps (idle), by reaper" },
};
/* clang-format on */

static void
events_are_sentences(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		auto_json json_t *event = json_loads(CASES[i].event, 0, NULL);
		auto_free char *text = NULL, *want = NULL;
		size_t len = 0;
		FILE *to = open_memstream(&text, &len);

		assert_non_null(event);
		assert_non_null(to);
		story_print(event, to);
		assert_int_equal(fclose(to), 0);
		want = xasprintf("  %s\n", CASES[i].want);
		assert_string_equal(text, want);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_are_sentences),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
