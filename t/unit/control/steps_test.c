/* steps_test.c: tests the list of a start's steps and their durations. */
#include "../unit.h"

#include "common/clock.h"
#include "control/steps.h"

/* The clock of steps.c (--wrap) advances only when the test says so. */
static int64_t now_us = 1000;

int64_t __wrap_clock_us(void);

int64_t
__wrap_clock_us(void)
{
	return now_us;
}

static json_int_t
number(const json_t *list, size_t i, const char *key)
{
	return json_integer_value(
	    json_object_get(json_array_get(list, i), key));
}

static const char *
word(const json_t *list, size_t i, const char *key)
{
	return json_str(json_array_get(list, i), key);
}

static void
a_step_lasts_until_the_next_one(void **state)
{
	auto_json json_t *list = NULL;
	struct steps s = { 0 };

	(void)state;
	assert_false(steps_under_way(&s));
	steps_enter(&s, "workspace", "made");
	now_us += 20 * 1000;
	steps_enter(&s, "ready", "proved");
	assert_true(steps_under_way(&s));
	now_us += 3 * 1000;
	steps_end(&s);
	assert_false(steps_under_way(&s));
	now_us += 5 * 1000;
	list = steps_json(&s, NULL);
	assert_int_equal(json_array_size(list), 2);
	assert_string_equal(word(list, 0, "what"), "workspace");
	assert_string_equal(word(list, 0, "how"), "made");
	assert_int_equal(number(list, 0, "ms"), 20);
	assert_int_equal(number(list, 0, "ago"), 8);
	assert_int_equal(number(list, 1, "ms"), 3);
	assert_int_equal(number(list, 1, "ago"), 5);
	assert_null(json_object_get(json_array_get(list, 1), "error"));
}

static void
the_step_under_way_is_the_one_that_failed(void **state)
{
	auto_json json_t *list = NULL;
	struct steps s = { 0 };
	struct err e = { 0 };

	(void)state;
	err_set(&e, ERR_UNAVAILABLE, CODE_START_FAILED, "no room");
	steps_enter(&s, "workspace", "made");
	assert_true(steps_are_at(&s, "workspace"));
	steps_enter(&s, "sandbox", "started");
	assert_false(steps_are_at(&s, "workspace"));
	list = steps_json(&s, &e);
	assert_null(json_object_get(json_array_get(list, 0), "error"));
	assert_string_equal(word(list, 1, "error"), "no room");
	/* the failed step has no outcome */
	assert_null(json_object_get(json_array_get(list, 1), "how"));
}

static void
more_than_there_is_room_for_are_dropped(void **state)
{
	auto_json json_t *list = NULL;
	struct steps s = { 0 };

	(void)state;
	for (int i = 0; i < 2 * STEPS_MAX; i++)
		steps_enter(&s, "again", "made");
	list = steps_json(&s, NULL);
	assert_int_equal(json_array_size(list), STEPS_MAX);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_step_lasts_until_the_next_one),
		cmocka_unit_test(the_step_under_way_is_the_one_that_failed),
		cmocka_unit_test(more_than_there_is_room_for_are_dropped),
	};

	return cmocka_run_group_tests_name("steps", tests, NULL, NULL);
}
