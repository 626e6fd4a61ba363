/* record_test.c: tests which requests are stale, case by case. */
#include "../unit.h"

#include <string.h>

#include "common/mem.h"
#include "common/str.h"
#include "provider/box/record.h"

/* One letter names an incarnation; "" means none. */
struct row {
	const char *what;
	struct record r;
	const char *incarnation;
	int64_t epoch;
	bool runs;
	bool refused;
};

#define REC(state_, inc_, epoch_, ...)                                         \
	{                                                                      \
		.state = (state_), .incarnation = inc_, .epoch = (epoch_),     \
		.past = {                                                      \
			__VA_ARGS__                                            \
		}                                                              \
	}

/* clang-format off */
static const struct row ENSURE[] = {
	{ "nothing is known", REC(RECORD_NONE, "", 0, ""), "a", 1, false, false },
	{ "the same, whose start nobody saw the end of, died", REC(RECORD_STARTING, "a", 1, ""), "a", 1, false, true },
	{ "the same, still starting", REC(RECORD_STARTING, "a", 1, ""), "a", 1, true, false },
	{ "the same, running", REC(RECORD_LIVE, "a", 1, ""), "a", 1, true, false },
	{ "the same, which has died", REC(RECORD_LIVE, "a", 1, ""), "a", 1, false, true },
	{ "the same, which was stopped", REC(RECORD_ENDED, "a", 1, ""), "a", 1, false, true },
	{ "the same, which was destroyed", REC(RECORD_DESTROYED, "a", 1, ""), "a", 1, false, true },
	{ "a newer one", REC(RECORD_LIVE, "a", 1, ""), "b", 2, true, false },
	{ "a newer one after a tombstone", REC(RECORD_DESTROYED, "a", 1, ""), "b", 2, false, false },
	{ "an older one", REC(RECORD_LIVE, "b", 2, ""), "a", 1, true, true },
	{ "an older one, nothing runs", REC(RECORD_ENDED, "b", 2, ""), "a", 1, false, true },
	{ "another one of the same epoch", REC(RECORD_LIVE, "b", 2, ""), "a", 2, true, true },
	{ "an older one after a tombstone", REC(RECORD_DESTROYED, "b", 2, ""), "a", 1, false, true },
	{ "a past one whose caller knows no order", REC(RECORD_LIVE, "b", 0, "a"), "a", 0, true, true },
	{ "an unknown one whose caller knows no order", REC(RECORD_LIVE, "b", 0, "a"), "c", 0, true, false },
};

static const struct row STOP[] = {
	{ "nothing is known", REC(RECORD_NONE, "", 0, ""), "a", 0, false, false },
	{ "nobody's processes", REC(RECORD_NONE, "", 0, ""), "", 0, true, false },
	{ "the one that runs", REC(RECORD_LIVE, "a", 1, ""), "a", 0, true, false },
	{ "another than the one that runs", REC(RECORD_LIVE, "b", 2, "a"), "a", 0, true, true },
	{ "an unknown one while another runs", REC(RECORD_LIVE, "b", 2, ""), "c", 0, true, true },
	{ "a past one, nothing runs", REC(RECORD_ENDED, "b", 2, "a"), "a", 0, false, false },
};

static const struct row DESTROY[] = {
	{ "the one on record", REC(RECORD_ENDED, "b", 2, "a"), "b", 0, false, false },
	{ "a past one: the files are the newer one's", REC(RECORD_ENDED, "b", 2, "a"), "a", 0, false, true },
	{ "a newer one that never arrived", REC(RECORD_ENDED, "b", 2, "a"), "c", 0, false, false },
	{ "a newer one that never arrived, another runs", REC(RECORD_LIVE, "b", 2, "a"), "c", 0, true, true },
	{ "a past one, and all is destroyed", REC(RECORD_DESTROYED, "b", 2, "a"), "a", 0, false, false },
};
/* clang-format on */

static void
check(const struct row *row, int rc, const struct err *e)
{
	if ((rc < 0) != row->refused)
		fail_msg("%s: %s", row->what, rc < 0 ? e->msg : "was allowed");
	if (rc < 0)
		assert_code(e->code, CODE_STALE_INCARNATION);
}

static void
a_stale_ensure_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ENSURE); i++) {
		struct sandbox_spec s = { .epoch = ENSURE[i].epoch };
		struct err e = { 0 };

		str_copy(s.incarnation, sizeof(s.incarnation),
		    ENSURE[i].incarnation);
		check(&ENSURE[i],
		    record_check_ensure(&ENSURE[i].r, &s, ENSURE[i].runs, &e),
		    &e);
	}
}

static void
a_stale_end_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(STOP); i++) {
		struct err e = { 0 };

		check(&STOP[i],
		    record_check_end(&STOP[i].r, STOP[i].incarnation,
			STOP[i].runs, false, &e),
		    &e);
	}
	for (size_t i = 0; i < ARRAY_LEN(DESTROY); i++) {
		struct err e = { 0 };

		check(&DESTROY[i],
		    record_check_end(&DESTROY[i].r, DESTROY[i].incarnation,
			DESTROY[i].runs, true, &e),
		    &e);
	}
}

static void
the_past_is_remembered_newest_first_and_bounded(void **state)
{
	struct record r = { 0 };
	struct sandbox_spec s = { 0 };
	struct err e = { 0 };

	(void)state;
	for (int i = 0; i < RECORD_PAST_MAX + 3; i++) {
		s.epoch = i + 1;
		s.incarnation[0] = (char)('a' + i);
		record_start(&r, &s);
		assert_int_equal(r.state, RECORD_STARTING);
	}
	assert_int_equal(r.epoch, RECORD_PAST_MAX + 3);
	assert_string_equal(r.incarnation, "k");
	assert_string_equal(r.past[0], "j");
	assert_string_equal(r.past[RECORD_PAST_MAX - 1], "c");
	assert_int_equal(record_check_end(&r, "j", false, true, &e), -1);
}

static void
an_end_is_noted_even_if_its_start_never_came(void **state)
{
	struct record r = REC(RECORD_LIVE, "a", 4, "");
	struct sandbox_spec s = { .incarnation = "b", .epoch = 5 };
	struct err e = { 0 };

	(void)state;
	record_end(&r, "b", true);
	assert_int_equal(r.state, RECORD_DESTROYED);
	assert_int_equal(record_check_ensure(&r, &s, false, &e), -1);
	assert_int_equal(r.epoch, 4);
	s.incarnation[0] = 'c';
	assert_int_equal(record_check_ensure(&r, &s, false, &e), 0);
}

static void
a_start_forgets_neither_the_epoch_nor_the_past(void **state)
{
	struct record r = REC(RECORD_LIVE, "b", 5, "a");
	struct sandbox_spec s = { .incarnation = "b", .epoch = 5 };
	struct err e = { 0 };

	(void)state;
	record_start(&r, &s); /* the same start once more */
	assert_string_equal(r.past[0], "a");
	assert_string_equal(r.past[1], "");
	s = (struct sandbox_spec){ .incarnation = "c" }; /* without an epoch */
	record_start(&r, &s);
	s = (struct sandbox_spec){ .incarnation = "d", .epoch = 5 };
	assert_int_equal(record_check_ensure(&r, &s, false, &e), -1);
}

static void
a_stop_is_no_tombstone(void **state)
{
	struct record r = REC(RECORD_LIVE, "b", 2, "a");
	struct err e = { 0 };

	(void)state;
	record_end(&r, "b", false);
	assert_int_equal(r.state, RECORD_ENDED);
	/* the files stay: a late destroy is refused */
	assert_int_equal(record_check_end(&r, "a", false, true, &e), -1);
}

static void
a_late_stop_does_not_wake_a_tombstone(void **state)
{
	struct record r = REC(RECORD_DESTROYED, "b", 2, "a");

	(void)state;
	record_end(&r, "a", false);
	assert_int_equal(r.state, RECORD_DESTROYED);
	assert_string_equal(r.incarnation, "b");
}

static void
a_record_is_read_as_it_was_written(void **state)
{
	struct record r = REC(RECORD_LIVE, "abcdefgh22345672", INT64_MAX, "x",
			  "y"),
		      back;
	auto_free char *text = record_text(&r);
	struct err e = { 0 };

	(void)state;
	assert_int_equal(record_parse(text, strlen(text), &back, &e), 0);
	assert_memory_equal(&r, &back, sizeof(r));
}

static void
a_damaged_record_is_an_error_and_not_an_empty_one(void **state)
{
	static const char *const TEXTS[] = {
		"", "{}", "null", "{\"state\":\"live\"",
		"{\"state\":\"odd\",\"incarnation\":\"a\",\"epoch\":1,\"past\":[]}",
		"{\"state\":\"live\",\"incarnation\":\"a\",\"epoch\":-1,\"past\":[]}",
		"{\"state\":\"live\",\"incarnation\":\"a\",\"epoch\":1,\"past\":[1]}"
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(TEXTS); i++) {
		struct record r;
		struct err e = { 0 };

		assert_int_equal(
		    record_parse(TEXTS[i], strlen(TEXTS[i]), &r, &e), -1);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stale_ensure_is_refused),
		cmocka_unit_test(a_stale_end_is_refused),
		cmocka_unit_test(
		    the_past_is_remembered_newest_first_and_bounded),
		cmocka_unit_test(an_end_is_noted_even_if_its_start_never_came),
		cmocka_unit_test(
		    a_start_forgets_neither_the_epoch_nor_the_past),
		cmocka_unit_test(a_stop_is_no_tombstone),
		cmocka_unit_test(a_late_stop_does_not_wake_a_tombstone),
		cmocka_unit_test(a_record_is_read_as_it_was_written),
		cmocka_unit_test(
		    a_damaged_record_is_an_error_and_not_an_empty_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
