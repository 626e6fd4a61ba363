/* plan_test.c: tests every decision of a pass. */
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
			    (enum plan_seen)seen);

			if (got != (int)CASES[i].want[seen])
				fail_msg("%s, seen %d: %d instead of %d",
				    CASES[i].name, seen, got,
				    CASES[i].want[seen]);
		}
}

/* The n-th of all 256 rows: bit i of n is the i-th claim. */
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
					     (enum plan_seen)seen),
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
						 (enum plan_seen)seen),
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
						 (enum plan_seen)seen),
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
						 (enum plan_seen)seen),
			    PLAN_STOP_OLD);
		}
}

/* ---- the work of a wrapper */

enum { MINUTE = 60 * 1000, STUCK = 30 * MINUTE };

/* busy; quiet time, CPU time now and before, and the age of the latter */
#define WORKS(q, now, then, age)                                               \
	.busy = true, .quiet_ms = (q), .cpu_ms = (now), .old_cpu_ms = (then),  \
	.cpu_age_ms = (age)
#define STILL WORKS(STUCK, 7, 7, STUCK)

/* clang-format off */
static const struct {
	const char *name;
	enum plan_due due;
	struct plan_work work;
	enum plan_verdict want;
	int64_t ask_ms; /* 0: any */
	bool moved;
} WORK[] = {
	{ "idle and nothing runs", PLAN_DUE_IDLE, { .cpu_ms = -1 }, PLAN_SLEEP, 0, false },
	{ "idle, but a command runs", PLAN_DUE_IDLE, { .busy = true, .quiet_ms = MINUTE, .cpu_ms = 5, .old_cpu_ms = -1 }, PLAN_WARM, STUCK, true },
	{ "idle, and it does not answer", PLAN_DUE_IDLE, { .silent = true }, PLAN_LEAVE, 0, false },
	{ "a late start without work", PLAN_DUE_START, { .starting = true, .cpu_ms = -1 }, PLAN_FAIL, 0, false },
	{ "a late start that nobody answers for", PLAN_DUE_START, { .starting = true, .silent = true }, PLAN_FAIL, 0, false },
	{ "ready without work, and silent", PLAN_DUE_START, { .silent = true }, PLAN_LEAVE, 0, false },
	{ "a late start that works", PLAN_DUE_START, { .busy = true, .cpu_ms = 1, .old_cpu_ms = 1 }, PLAN_REPAIR, 0, false },
	{ "a late start that took calls", PLAN_DUE_START, { .served = 1 }, PLAN_REPAIR, 0, false },
	{ "calls before it was ready are nobody's", PLAN_DUE_START, { .served = 1, .starting = true }, PLAN_FAIL, 0, false },
	{ "nothing has moved for half an hour", PLAN_DUE_ASK, { STILL }, PLAN_STUCK, 0, false },
	{ "the same when its idle date is over", PLAN_DUE_IDLE, { STILL }, PLAN_STUCK, 0, false },
	{ "it is not busy at all", PLAN_DUE_ASK, { .quiet_ms = STUCK, .cpu_ms = 7, .old_cpu_ms = 7, .cpu_age_ms = STUCK }, PLAN_KEEP, STUCK, false },
	{ "a byte came", PLAN_DUE_ASK, { WORKS(10 * MINUTE, 7, 7, STUCK) }, PLAN_KEEP, 20 * MINUTE, false },
	{ "it used the CPU since", PLAN_DUE_ASK, { WORKS(STUCK, 8, 7, STUCK) }, PLAN_KEEP, STUCK, true },
	{ "it used the CPU a while ago", PLAN_DUE_ASK, { WORKS(STUCK, 7, 7, 25 * MINUTE) }, PLAN_KEEP, 5 * MINUTE, false },
	{ "CPU time that fell was used, too", PLAN_DUE_ASK, { WORKS(STUCK, 6, 7, STUCK) }, PLAN_KEEP, STUCK, true },
	{ "its own limit is not over", PLAN_DUE_ASK, { STILL, .limit_ms = 40 * MINUTE }, PLAN_KEEP, 40 * MINUTE, false },
	{ "an agent that does not tell", PLAN_DUE_ASK, { WORKS(STUCK, -1, 7, STUCK) }, PLAN_KEEP, STUCK, false },
	{ "never asked before", PLAN_DUE_ASK, { WORKS(STUCK, 7, -1, 0) }, PLAN_KEEP, STUCK, true },
};
/* clang-format on */

static void
what_a_wrapper_does_decides_about_it(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(WORK); i++) {
		int64_t ask_ms = -1;
		bool moved;
		enum plan_verdict got = plan_work(WORK[i].due, &WORK[i].work,
		    STUCK, &ask_ms, &moved);

		if (got != WORK[i].want || moved != WORK[i].moved ||
		    (WORK[i].ask_ms != 0 && ask_ms != WORK[i].ask_ms))
			fail_msg("%s: %d, asked in %lld, moved %d",
			    WORK[i].name, (int)got, (long long)ask_ms, moved);
	}
}

static void
retries_have_a_fifth_of_the_pass(void **state)
{
	(void)state;
	assert_int_equal(plan_retry_ms(50000, 20, 0, 50000), 10000);
	assert_int_equal(plan_retry_ms(50000, 20, 4000, 50000), 6000);
	assert_int_equal(plan_retry_ms(50000, 20, 4000, 500), 500);
	assert_int_equal(plan_retry_ms(50000, 20, 10000, 20000), 0);
	assert_int_equal(plan_retry_ms(50000, 20, 30000, 20000), 0);
}

static void
every_part_of_a_pass_has_its_share(void **state)
{
	static const int64_t WEIGHT[] = { 1, 4, 8, 2 };
	int64_t left = 45000, weights = 15;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(WEIGHT); i++) {
		/* each part uses up its share */
		assert_int_equal(plan_share_ms(left, WEIGHT[i], weights),
		    3000 * WEIGHT[i]);
		left -= plan_share_ms(left, WEIGHT[i], weights);
		weights -= WEIGHT[i];
	}
	assert_int_equal(left, 0);
	/* the last part gets the time that the others did not use */
	assert_int_equal(plan_share_ms(45000, 1, 1), 45000);
	assert_int_equal(plan_share_ms(0, 1, 1), 0);
	assert_int_equal(plan_share_ms(-5, 1, 1), 0);
}

static void
a_member_stays_while_it_can_be_claimed(void **state)
{
	const struct plan_member ready = { .ready = true, .fits = true };
	struct plan_member m;

	(void)state;
	assert_true(plan_member_stays(&ready, true));
	assert_false(plan_member_stays(&ready, false));
	m = ready;
	m.fits = false;
	assert_false(plan_member_stays(&m, true));
	m = ready;
	m.gone = true;
	assert_false(plan_member_stays(&m, true));
	/* one that is being started need not run yet, until its deadline */
	m.ready = false;
	assert_true(plan_member_stays(&m, true));
	m.overdue = true;
	assert_false(plan_member_stays(&m, true));
	/* one that is being ended is left to the program that does so */
	m = (struct plan_member){ .retiring = true };
	assert_true(plan_member_stays(&m, false));
	m.overdue = true;
	assert_false(plan_member_stays(&m, false));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_part_of_a_pass_has_its_share),
		cmocka_unit_test(a_member_stays_while_it_can_be_claimed),
		cmocka_unit_test(every_difference_has_its_answer),
		cmocka_unit_test(what_a_wrapper_does_decides_about_it),
		cmocka_unit_test(retries_have_a_fifth_of_the_pass),
		cmocka_unit_test(what_cannot_be_seen_is_left_alone),
		cmocka_unit_test(another_host_s_sandbox_is_left_alone),
		cmocka_unit_test(a_start_under_way_is_never_marked_stopped),
		cmocka_unit_test(
		    a_sandbox_that_a_session_uses_is_never_an_orphan),
		cmocka_unit_test(what_runs_as_the_row_wants_is_never_stopped),
	};

	return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
