/* markers_test.c: tests how a session's marks are read from an environment. */
#include "../unit.h"

#include <string.h>

#include "agent/init/markers.h"
#include "common/mem.h"

#define S "aaaaaaaaaaaaaaaaaaaa"
#define ENTRY(x) x "\0"

struct env_case {
	const char *env;
	size_t len;
	bool ours;
	const char *instance;
	int64_t generation;
};
#define ENV(e) e, sizeof(e) - 1

static void
only_whole_entries_count(void **state)
{
	static const struct env_case CASES[] = {
		{ ENV(""), false, "", 0 },
		{ ENV(ENTRY("PATH=/bin")), false, "", 0 },
		{ ENV(ENTRY("SANDLEASE_SESSION_ID=" S)), true, "", 0 },
		{ ENV(ENTRY("A=1") ENTRY("SANDLEASE_GENERATION=7")
			  ENTRY("SANDLEASE_SESSION_ID=" S)
			      ENTRY("SANDLEASE_INSTANCE_ID=i1")),
		    true, "i1", 7 },
		/* longer, shorter, inside another value or name: no marker */
		{ ENV(ENTRY("SANDLEASE_SESSION_ID=" S "x")), false, "", 0 },
		{ ENV(ENTRY("SANDLEASE_SESSION_ID=aaa")), false, "", 0 },
		{ ENV(ENTRY("X=SANDLEASE_SESSION_ID=" S)), false, "", 0 },
		{ ENV(ENTRY("XSANDLEASE_SESSION_ID=" S)), false, "", 0 },
		{ ENV(ENTRY("X=\nSANDLEASE_SESSION_ID=" S)), false, "", 0 },
		/* an environment that is cut off */
		{ ENV("SANDLEASE_SESSION_ID=" S), false, "", 0 },
		{ ENV(ENTRY(
		      "SANDLEASE_SESSION_ID=" S) "SANDLEASE_GENERATION=12"),
		    true, "", 0 },
		{ ENV(ENTRY("SANDLEASE_SESSION_ID=" S)
			  ENTRY("SANDLEASE_GENERATION=-1")),
		    true, "", 0 },
		{ ENV(ENTRY("SANDLEASE_SESSION_ID=" S)
			  ENTRY("SANDLEASE_INSTANCE_ID=i\377")),
		    true, "", 0 },
		{ ENV(ENTRY("SANDLEASE_SESSION_ID=" S) ENTRY(
		      "SANDLEASE_INSTANCE_ID=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")),
		    true, "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		struct marked m;

		assert_int_equal(markers_read(CASES[i].env, CASES[i].len, S,
				     &m),
		    CASES[i].ours);
		if (!CASES[i].ours)
			continue;
		assert_string_equal(m.instance, CASES[i].instance);
		assert_int_equal(m.generation, CASES[i].generation);
	}
}

static void
whoever_is_in_a_cell_or_dead_is_not_looked_at(void **state)
{
	(void)state;
	assert_true(markers_is_outside(
	    "Name:\tx\nState:\tS (sleeping)\nNSpid:\t12\nNSsid:\t1\n"));
	assert_false(markers_is_outside(
	    "Name:\tx\nState:\tS (sleeping)\nNSpid:\t12\t3\nNSsid:\t1\n"));
	assert_false(
	    markers_is_outside("Name:\tx\nState:\tZ (zombie)\nNSpid:\t12\n"));
	assert_false(markers_is_outside("Name:\tx\nState:\tS\n"));
	assert_false(markers_is_outside(""));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_whole_entries_count),
		cmocka_unit_test(whoever_is_in_a_cell_or_dead_is_not_looked_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
