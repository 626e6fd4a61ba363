/* show_test.c: tests the output for people. */
#include "t/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cli/show.h"
#include "common/mem.h"

static void
ages_have_one_unit(void **state)
{
	static const struct {
		int seconds;
		const char *want;
	} CASES[] = { { 0, "0s" }, { 59, "59s" }, { 60, "1m" }, { 3599, "59m" },
		{ 3600, "1h" }, { 86399, "23h" }, { 86400, "1d" },
		{ -500, "0s" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		char iso[32], age[SHOW_AGE_MAX];
		time_t now, at;
		struct tm tm;

		do {
			now = time(NULL);
			at = now - CASES[i].seconds;
			gmtime_r(&at, &tm);
			strftime(iso, sizeof(iso), "%Y-%m-%dT%H:%M:%S.000Z",
			    &tm);
			show_age(iso, age);
		} while (time(NULL) != now); /* a second has passed: again */
		assert_string_equal(age, CASES[i].want);
	}
}

static void
no_date_is_no_age(void **state)
{
	char age[SHOW_AGE_MAX];

	(void)state;
	show_age("", age);
	assert_string_equal(age, "-");
	show_age("yesterday", age);
	assert_string_equal(age, "-");
}

static void
sizes_have_one_digit_behind(void **state)
{
	static const struct {
		int64_t bytes;
		const char *want;
	} CASES[] = { { 0, "0 B" }, { 999, "999 B" }, { 1000, "1.0 kB" },
		{ 1500000, "1.5 MB" }, { 2000000000, "2.0 GB" },
		{ 5000000000000000, "5000.0 TB" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		char text[SHOW_AGE_MAX];

		show_bytes(CASES[i].bytes, text);
		assert_string_equal(text, CASES[i].want);
	}
}

static void
control_characters_are_not_shown(void **state)
{
	char *text = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&text, &len);

	(void)state;
	show_text("a\033[31mb\tc\n\007d\x7f", to);
	fclose(to);
	assert_string_equal(text, "a[31mb\tc\nd");
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ages_have_one_unit),
		cmocka_unit_test(no_date_is_no_age),
		cmocka_unit_test(sizes_have_one_digit_behind),
		cmocka_unit_test(control_characters_are_not_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
