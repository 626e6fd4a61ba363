/* clock_test.c: tests durations and time stamps. */
#include "../unit.h"

#include <limits.h>
#include <string.h>

#include "common/clock.h"
#include "common/str.h"

static void
time_goes_forward(void **state)
{
	int64_t last = clock_us();

	(void)state;
	for (int i = 0; i < 1000; i++) {
		int64_t now = clock_us();

		assert_true(now >= last);
		last = now;
	}
	assert_true(clock_ms() >= last / 1000);
}

static void
what_is_left_is_never_negative_and_fits_poll(void **state)
{
	int64_t now = clock_ms();
	int left = clock_left_ms(now + 60000);

	(void)state;
	assert_int_equal(clock_left_ms(now - 1), 0);
	assert_int_equal(clock_left_ms(0), 0);
	assert_true(left > 0 && left <= 60000);
	assert_int_equal(clock_left_ms(INT64_MAX), INT_MAX);
}

static void
a_time_stamp_is_iso_8601_in_utc(void **state)
{
	char at[CLOCK_ISO_MAX], shape[CLOCK_ISO_MAX];
	size_t i;

	(void)state;
	clock_iso(at);
	for (i = 0; at[i] != '\0'; i++)
		shape[i] = at[i] >= '0' && at[i] <= '9' ? '9' : at[i];
	shape[i] = '\0';
	assert_string_equal(shape, "9999-99-99T99:99:99.999Z");
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
		cmocka_unit_test(time_goes_forward),
		cmocka_unit_test(what_is_left_is_never_negative_and_fits_poll),
		cmocka_unit_test(a_time_stamp_is_iso_8601_in_utc),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
