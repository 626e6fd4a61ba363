/* limits_test.c: tests which limits a body may have. */
#include "../unit.h"

#include "common/mem.h"
#include "domain/limits.h"

static void
limits_are_checked(void **state)
{
	static const struct {
		const char *text, *field; /* field NULL: accepted */
	} CASES[] = {
		{ "{}", NULL },
		{ "{\"memoryMb\": 64, \"cpuSeconds\": 1, \"wallSeconds\": 1,"
		  " \"networkRequests\": 1, \"pids\": 32, \"diskMb\": 1}",
		    NULL },
		{ "{\"memoryMb\": 63}", "limits.memoryMb" },
		{ "{\"cpuSeconds\": 0}", "limits.cpuSeconds" },
		{ "{\"wallSeconds\": 2592001}", "limits.wallSeconds" },
		{ "{\"networkRequests\": 0}", "limits.networkRequests" },
		{ "{\"pids\": 31}", "limits.pids" },
		{ "{\"pids\": 32.5}", "limits.pids" },
		{ "{\"diskMb\": \"1\"}", "limits.diskMb" },
		{ "{\"cpuMillis\": 1}", "limits.cpuMillis" },
		{ "[]", "limits" },
		{ "null", "limits" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		auto_json json_t *body =
		    json_loads(CASES[i].text, JSON_DECODE_ANY, NULL);
		struct err e = { 0 };
		int rc = limits_check(body, "limits", &e);

		if (rc != (CASES[i].field == NULL ? 0 : -1))
			fail_msg("%s: %d %s", CASES[i].text, rc, e.msg);
		if (rc < 0)
			assert_string_equal(e.field, CASES[i].field);
	}
}

static void
an_agent_type_is_a_word(void **state)
{
	static const char *const GOOD[] = { "TEST_WRITER", "a", "bug-hunter",
		"v1.2" };
	static const char *const BAD[] = { "", "a b", "a/b", "ä", "a\n",
		"0123456789012345678901234567890123456789012345678901234567890"
		"1234" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(GOOD); i++)
		assert_true(limits_is_agent_type(GOOD[i]));
	for (size_t i = 0; i < ARRAY_LEN(BAD); i++)
		assert_false(limits_is_agent_type(BAD[i]));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_are_checked),
		cmocka_unit_test(an_agent_type_is_a_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
