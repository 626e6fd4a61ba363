/* schedule_test.c: tests which cron expressions are taken, and as what. */
#include "../unit.h"

#include <string.h>

#include "common/mem.h"
#include "common/str.h"
#include "domain/schedule.h"

static void
expressions_become_sets(void **state)
{
	static const struct {
		const char *text;
		enum schedule_part part;
		const char *set;
	} CASES[] = {
		{ "5 * * * *", SCHEDULE_MINUTE, "5" },
		{ "0,30 * * * *", SCHEDULE_MINUTE, "0,30" },
		{ "30,0,30 * * * *", SCHEDULE_MINUTE, "0,30" },
		{ "*/20 * * * *", SCHEDULE_MINUTE, "0,20,40" },
		{ "10-30/10 * * * *", SCHEDULE_MINUTE, "10,20,30" },
		{ "50/4 * * * *", SCHEDULE_MINUTE, "50,54,58" },
		{ "*/59 * * * *", SCHEDULE_MINUTE, "0,59" },
		{ "0 0-3,22-23 * * *", SCHEDULE_HOUR, "0,1,2,3,22,23" },
		{ "\t0  03\t* * *  ", SCHEDULE_HOUR, "3" },
		{ "0 0 31 * *", SCHEDULE_DAY, "31" },
		{ "0 0 */15 * *", SCHEDULE_DAY, "1,16,31" },
		{ "0 0 1 JAN,jun-Aug,12 *", SCHEDULE_MONTH, "1,6,7,8,12" },
		{ "0 0 * * 0", SCHEDULE_WEEKDAY, "0" },
		{ "0 0 * * 7", SCHEDULE_WEEKDAY, "0" },
		{ "0 0 * * 5-7", SCHEDULE_WEEKDAY, "0,5,6" },
		{ "0 0 * * mon-FRI", SCHEDULE_WEEKDAY, "1,2,3,4,5" },
		{ "0 0 * * *", SCHEDULE_WEEKDAY, "0,1,2,3,4,5,6" },
		{ "@hourly", SCHEDULE_MINUTE, "0" },
		{ "@daily", SCHEDULE_HOUR, "0" },
		{ "@weekly", SCHEDULE_WEEKDAY, "0" },
		{ "@monthly", SCHEDULE_DAY, "1" },
		{ "@yearly", SCHEDULE_MONTH, "1" },
	};
	static const char *const NAMES[] = { "minutes", "hours", "days",
		"months", "weekdays" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		auto_buf struct buf seen = { 0 };
		auto_json json_t *all = NULL;
		const json_t *set;
		struct schedule s;
		struct err e = { 0 };

		if (schedule_parse(CASES[i].text, &s, &e) < 0)
			fail_msg("%s: %s", CASES[i].text, e.msg);
		all = schedule_json(&s);
		set = json_object_get(all, NAMES[CASES[i].part]);
		for (size_t n = 0; n < json_array_size(set); n++)
			buf_fmt(&seen, "%s%d", n > 0 ? "," : "",
			    (int)json_integer_value(json_array_get(set, n)));
		if (!str_equal(seen.data, CASES[i].set))
			fail_msg("%s: %s", CASES[i].text, seen.data);
	}
}

static void
either_day_matches_if_both_are_given(void **state)
{
	static const struct {
		const char *text;
		bool either;
	} CASES[] = {
		{ "0 0 1 * 1", true },
		{ "0 0 * * 1", false },
		{ "0 0 1 * *", false },
		{ "0 0 */2 * 1",
		    false }, /* cron's rule: it begins with a star */
		{ "@monthly", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		struct schedule s;
		struct err e = { 0 };

		assert_int_equal(schedule_parse(CASES[i].text, &s, &e), 0);
		assert_int_equal(s.either, CASES[i].either);
	}
}

static void
others_are_refused(void **state)
{
	static const char *const CASES[] = { "", " ", "* * * *", "* * * * * *",
		"60 * * * *", "* 24 * * *", "* * 0 * *", "* * 32 * *",
		"* * * 0 *", "* * * 13 *", "* * * * 8", "5-1 * * * *",
		"*/0 * * * *", "*/60 * * * *", "*/ * * * *", "1, * * * *",
		",1 * * * *", "1,,2 * * * *", "-1 * * * *", "1- * * * *",
		"1-2-3 * * * *", "001 * * * *", "1/2/3 * * * *", "a * * * *",
		"* * * foo *", "* * * january *", "* * * * sunday",
		"mon * * * *", "**  * * * *", "*1 * * * *", "? * * * *",
		"0 0 L * *", "@reboot", "@Daily", "@daily ", "@daily *",
		"1e1 * * * *", "+1 * * * *", "0x1 * * * *" };
	char large[SCHEDULE_TEXT_MAX + 1];
	struct schedule s;
	struct err e = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		e = (struct err){ 0 };
		if (schedule_parse(CASES[i], &s, &e) == 0)
			fail_msg("%s was taken", CASES[i]);
		assert_string_equal(e.field, "schedule");
	}
	memset(large, ' ', sizeof(large));
	large[sizeof(large) - 1] = '\0';
	memcpy(large, "* * * * *", 9);
	assert_int_equal(schedule_parse(large, &s, &e), -1);
	large[SCHEDULE_TEXT_MAX - 1] = '\0';
	assert_int_equal(schedule_parse(large, &s, &e), 0);
}

static void
a_zone_is_named_in_full(void **state)
{
	static const char *const GOOD[] = { "UTC", "Europe/Berlin",
		"America/Argentina/Buenos_Aires", "Etc/GMT+5",
		"America/Port-au-Prince" };
	static const char *const BAD[] = { "", "utc", "CET", "Local", "GMT+5",
		"Europe/Berlin ", "Europe/B\xc3\xa4rlin", "../etc/passwd",
		"<+03>-3/x", "5/6", "a/'",
		"A/0123456789012345678901234567890123456789012345678901234567"
		"8901" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(GOOD); i++)
		assert_true(schedule_is_zone(GOOD[i]));
	for (size_t i = 0; i < ARRAY_LEN(BAD); i++)
		if (schedule_is_zone(BAD[i]))
			fail_msg("%s was taken", BAD[i]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(expressions_become_sets),
		cmocka_unit_test(either_day_matches_if_both_are_given),
		cmocka_unit_test(others_are_refused),
		cmocka_unit_test(a_zone_is_named_in_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
