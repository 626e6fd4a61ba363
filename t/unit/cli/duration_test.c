/* duration_test.c: tests durations as people write them. */
#include "t/unit/unit.h"

#include "cli/duration.h"
#include "common/mem.h"

static void
times_are_seconds_or_refused(void **state)
{
	static const struct {
		const char *text;
		int64_t want; /* -1: refused */
	} CASES[] = {
		{ "90", 90 },
		{ "30s", 30 },
		{ "10m", 600 },
		{ "2h", 7200 },
		{ "1d", 86400 },
		{ "0", -1 },
		{ "2d", -1 },
		{ "", -1 },
		{ "m", -1 },
		{ "1w", -1 },
		{ "1mm", -1 },
		{ "-1", -1 },
		{ "9999999999999999999", -1 },
		{ "999999999999d", -1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		int64_t seconds = -1;
		struct err e = { 0 };
		int rc = duration_parse("--time", CASES[i].text, 1, 86400,
		    &seconds, &e);

		assert_int_equal(rc, CASES[i].want < 0 ? -1 : 0);
		assert_int_equal(seconds, CASES[i].want);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_are_seconds_or_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
