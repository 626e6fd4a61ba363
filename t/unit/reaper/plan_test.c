/* plan_test.c: rows and reality, every difference that matters. */
#include "../unit.h"

#include "common/mem.h"
#include "reaper/plan.h"

#define RUNS .known = true, .wanted = true, .used = true
#define STOPPED .known = true, .used = true
#define ENDED .known = true, .ended = true

struct expectation {
	const char *name;
	struct plan_row row;
	int want[4]; /* seen running, stopped, absent, unknown */
};

/* clang-format off */
enum { NOTHING = PLAN_NOTHING, MARK = PLAN_MARK_STOPPED, OLD = PLAN_STOP_OLD,
	SIGHT = PLAN_SIGHT_UNKNOWN };
static const struct expectation CASES[] = {
	/*                                                                       running  stopped  absent   unknown */
	{ "no row",
	  { .known = false },                                                  { SIGHT,   SIGHT,   NOTHING, NOTHING } },
	{ "runs, as it should",
	  { RUNS, .same_incarnation = true, .deadline_passed = true },         { NOTHING, MARK,    MARK,    NOTHING } },
	{ "is being started by somebody",
	  { RUNS, .same_incarnation = true },                                  { NOTHING, NOTHING, NOTHING, NOTHING } },
	{ "is being started, an older one still runs",
	  { RUNS },                                                            { OLD,     NOTHING, NOTHING, NOTHING } },
	{ "was started, an older one runs",
	  { RUNS, .deadline_passed = true },                                   { OLD,     MARK,    MARK,    NOTHING } },
	{ "was started before the reboot",
	  { RUNS, .other_boot = true },                                        { OLD,     MARK,    MARK,    NOTHING } },
	{ "was started before the reboot, long ago",
	  { RUNS, .other_boot = true, .deadline_passed = true },               { OLD,     MARK,    MARK,    NOTHING } },
	{ "is stopped, files kept",
	  { STOPPED, .deadline_passed = true },                                { OLD,     NOTHING, NOTHING, NOTHING } },
	{ "is stopped, and the same one still runs",
	  { STOPPED, .same_incarnation = true, .deadline_passed = true },      { OLD,     NOTHING, NOTHING, NOTHING } },
	{ "ended and nobody's",
	  { ENDED, .deadline_passed = true },                                  { SIGHT,   SIGHT,   NOTHING, NOTHING } },
	{ "ended, nobody's, of the incarnation that is seen",
	  { ENDED, .same_incarnation = true, .deadline_passed = true },        { SIGHT,   SIGHT,   NOTHING, NOTHING } },
	{ "never started, and a session wants it",
	  { ENDED, .used = true, .deadline_passed = true },                    { OLD,     NOTHING, NOTHING, NOTHING } },
};
/* clang-format on */

static void
every_difference_has_its_answer(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
		for (int seen = PLAN_RUNNING; seen <= PLAN_UNKNOWN; seen++) {
			int got = (int)plan_sandbox(&CASES[i].row,
			    (enum plan_sight)seen);

			if (got != (int)CASES[i].want[seen])
				fail_msg("%s, seen %d: %d instead of %d",
				    CASES[i].name, seen, got,
				    CASES[i].want[seen]);
		}
}

/* All 256 rows: bit i of n is the i-th claim. */
static struct plan_row
row_of(unsigned n)
{
	return (struct plan_row){
		.known = n & 1,
		.wanted = n & 2,
		.ended = n & 4,
		.used = n & 8,
		.other_host = n & 16,
		.other_boot = n & 32,
		.same_incarnation = n & 64,
		.deadline_passed = n & 128,
	};
}

static void
what_cannot_be_seen_is_left_alone(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 256; n++) {
		struct plan_row row = row_of(n);

		assert_int_equal(plan_sandbox(&row, PLAN_UNKNOWN),
		    PLAN_NOTHING);
	}
}

static void
another_host_s_sandbox_is_left_alone(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 256; n++)
		for (int seen = PLAN_RUNNING; seen <= PLAN_UNKNOWN; seen++) {
			struct plan_row row = row_of(n);

			row.other_host = true;
			assert_int_equal(plan_sandbox(&row,
					     (enum plan_sight)seen),
			    PLAN_NOTHING);
		}
}

static void
a_start_under_way_is_never_marked_stopped(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 256; n++)
		for (int seen = PLAN_RUNNING; seen <= PLAN_UNKNOWN; seen++) {
			struct plan_row row = row_of(n);

			row.deadline_passed = row.other_boot = false;
			assert_int_not_equal(plan_sandbox(&row,
						 (enum plan_sight)seen),
			    PLAN_MARK_STOPPED);
		}
}

static void
a_sandbox_that_a_session_uses_is_never_an_orphan(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 256; n++)
		for (int seen = PLAN_RUNNING; seen <= PLAN_UNKNOWN; seen++) {
			struct plan_row row = row_of(n);

			row.known = row.used = true;
			assert_int_not_equal(plan_sandbox(&row,
						 (enum plan_sight)seen),
			    PLAN_SIGHT_UNKNOWN);
		}
}

static void
what_runs_as_the_row_wants_is_never_stopped(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 256; n++)
		for (int seen = PLAN_RUNNING; seen <= PLAN_UNKNOWN; seen++) {
			struct plan_row row = row_of(n);

			row.wanted = row.same_incarnation = true;
			assert_int_not_equal(plan_sandbox(&row,
						 (enum plan_sight)seen),
			    PLAN_STOP_OLD);
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_difference_has_its_answer),
		cmocka_unit_test(what_cannot_be_seen_is_left_alone),
		cmocka_unit_test(another_host_s_sandbox_is_left_alone),
		cmocka_unit_test(a_start_under_way_is_never_marked_stopped),
		cmocka_unit_test(
		    a_sandbox_that_a_session_uses_is_never_an_orphan),
		cmocka_unit_test(what_runs_as_the_row_wants_is_never_stopped),
	};

	return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
