/* org_share_test.c: tests that one org cannot take a pool from the others. */
#include "../unit.h"

#include <sys/wait.h>
#include <unistd.h>

#include "api/org_share.h"

/* The clock of org_share.c (--wrap) advances only when the test says so. */
static int64_t now_ms = 5000;

int64_t __wrap_clock_ms(void);

int64_t
__wrap_clock_ms(void)
{
	return now_ms;
}

static int64_t hold_ms;

static int
enter(struct org_share *s, size_t worker, const char *org)
{
	struct err e = { 0 };

	return org_share_enter(s, worker, org, SHARE_ENDS_SOON, &hold_ms, &e);
}

/* The first `n` workers take calls of the org. */
static void
fill(struct org_share *s, size_t n, const char *org)
{
	for (size_t i = 0; i < n; i++)
		assert_int_equal(enter(s, i, org), 0);
}

static void
a_call_within_the_share_may_take_its_time(void **state)
{
	struct org_share *s = org_share_new(8);

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(enter(s, i, "acme"), 0);
		assert_int_equal(hold_ms, SHARE_HOLD_ANY);
	}
}

static void
calls_count_from_their_first_moment(void **state)
{
	struct org_share *s = org_share_new(8);

	(void)state;
	fill(s, 4, "acme");
	/* a burst in one millisecond is served, but with a short hold */
	assert_int_equal(enter(s, 4, "acme"), 0);
	assert_true(hold_ms <= 2000);
	/* other orgs have their own share */
	assert_int_equal(enter(s, 5, "other"), 0);
	assert_int_equal(hold_ms, SHARE_HOLD_ANY);
	/* and acme has its share again once a call has ended */
	org_share_leave(s, 0);
	org_share_leave(s, 4);
	assert_int_equal(enter(s, 0, "acme"), 0);
	assert_int_equal(hold_ms, SHARE_HOLD_ANY);
}

static void
a_call_that_may_last_never_goes_beyond_the_share(void **state)
{
	struct org_share *s = org_share_new(8);
	struct err e = { 0 };

	(void)state;
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(org_share_enter(s, i, "acme", SHARE_MAY_LAST,
				     &hold_ms, &e),
		    0);
	assert_int_equal(
	    org_share_enter(s, 4, "acme", SHARE_MAY_LAST, &hold_ms, &e), -1);
	assert_code(e.code, CODE_TOO_MANY_AT_ONCE);
	assert_int_equal(err_status(&e), 503);
	assert_true(err_retry_after_seconds(&e) > 0);
	/* the worker that refused is free: the org has four calls, not five */
	org_share_leave(s, 0);
	assert_int_equal(
	    org_share_enter(s, 4, "acme", SHARE_MAY_LAST, &hold_ms, &e), 0);
}

static void
credit_beyond_the_share_ends(void **state)
{
	struct org_share *s = org_share_new(8);

	(void)state;
	assert_int_equal(enter(s, 0, "other"), 0);
	fill(s, 8, "acme");
	/* four calls beyond the share, 2.5 seconds each, use up ten seconds */
	now_ms += 2499;
	org_share_leave(s, 7);
	assert_int_equal(enter(s, 7, "acme"), 0);
	now_ms += 2;
	org_share_leave(s, 7);
	assert_int_equal(enter(s, 7, "acme"), -1);
	/* both while the calls are in progress and when they have ended */
	for (size_t i = 4; i < 7; i++)
		org_share_leave(s, i);
	assert_int_equal(enter(s, 7, "acme"), -1);
	assert_int_equal(enter(s, 7, "other"), 0);
	org_share_leave(s, 7);
	/* the allowance comes back with time */
	now_ms += 1000;
	assert_int_equal(enter(s, 7, "acme"), 0);
	assert_true(hold_ms <= 2000);
}

static void
an_org_alone_needs_no_credit(void **state)
{
	struct org_share *s = org_share_new(8);

	(void)state;
	fill(s, 8, "acme");
	now_ms += 3600 * 1000;
	assert_int_equal(enter(s, 7, "acme"), 0);
	assert_true(hold_ms <= 2000);
	/* refused from another org's first call on, for a minute */
	org_share_leave(s, 6);
	assert_int_equal(enter(s, 6, "other"), 0);
	assert_int_equal(enter(s, 7, "acme"), -1);
	now_ms += 59999;
	assert_int_equal(enter(s, 7, "acme"), -1);
	now_ms += 1;
	assert_int_equal(enter(s, 7, "acme"), 0);
}

static void
calls_within_the_share_cost_no_credit(void **state)
{
	struct org_share *s = org_share_new(4);

	(void)state;
	fill(s, 2, "acme");
	now_ms += 3600 * 1000;
	assert_int_equal(enter(s, 2, "acme"), 0);
	org_share_leave(s, 0);
	org_share_leave(s, 1);
	org_share_leave(s, 2);
	fill(s, 2, "acme");
	assert_int_equal(enter(s, 2, "acme"), 0);
}

static void
a_call_that_reads_counts_and_is_never_refused(void **state)
{
	struct org_share *s = org_share_new(4);
	struct err e = { 0 };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(org_share_enter(s, i, "acme", SHARE_READS,
				     &hold_ms, &e),
		    0);
		assert_int_equal(hold_ms, SHARE_HOLD_ANY);
	}
	org_share_leave(s, 3);
	assert_int_equal(
	    org_share_enter(s, 3, "acme", SHARE_MAY_LAST, &hold_ms, &e), -1);
}

static void
a_worker_does_not_stand_in_its_own_way(void **state)
{
	struct org_share *s = org_share_new(2);

	(void)state;
	assert_int_equal(enter(s, 0, "acme"), 0);
	assert_int_equal(enter(s, 0, "acme"), 0);
	assert_int_equal(hold_ms, SHARE_HOLD_ANY);
}

static void
a_single_worker_serves_everybody(void **state)
{
	struct org_share *s = org_share_new(1);
	struct err e = { 0 };

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(org_share_enter(s, 0, "acme", SHARE_MAY_LAST,
				     &hold_ms, &e),
		    0);
		assert_int_equal(hold_ms, SHARE_HOLD_ANY);
		now_ms += 60000;
	}
}

static void
of_two_workers_one_is_for_the_others(void **state)
{
	struct org_share *s = org_share_new(2);
	struct err e = { 0 };

	(void)state;
	assert_int_equal(enter(s, 0, "acme"), 0);
	assert_int_equal(hold_ms, SHARE_HOLD_ANY);
	assert_int_equal(
	    org_share_enter(s, 1, "acme", SHARE_MAY_LAST, &hold_ms, &e), -1);
	assert_int_equal(enter(s, 1, "acme"), 0);
	assert_true(hold_ms <= 2000);
}

static void
all_processes_see_one_table(void **state)
{
	struct org_share *s = org_share_new(2);
	struct err e = { 0 };
	int status;
	pid_t pid;

	(void)state;
	pid = fork();
	if (pid == 0)
		_exit(enter(s, 1, "acme") == 0 ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(
	    org_share_enter(s, 0, "acme", SHARE_MAY_LAST, &hold_ms, &e), -1);
}

static void
a_quarter_may_wait_for_events_and_one_org_half_of_that(void **state)
{
	struct org_share *s = org_share_new(16);

	(void)state;
	assert_true(org_share_wait(s, 0, "acme", SHARE_EVENT));
	assert_true(org_share_wait(s, 1, "acme", SHARE_EVENT));
	assert_false(org_share_wait(s, 2, "acme", SHARE_EVENT));
	assert_true(org_share_wait(s, 2, "other", SHARE_EVENT));
	assert_true(org_share_wait(s, 3, "third", SHARE_EVENT));
	assert_false(org_share_wait(s, 4, "fourth", SHARE_EVENT));
	/* a refused call holds no place, an ended one gives it back */
	org_share_leave(s, 0);
	assert_true(org_share_wait(s, 4, "acme", SHARE_EVENT));
	assert_false(org_share_wait(s, 5, "other", SHARE_EVENT));
}

static void
a_quarter_is_left_by_those_who_wait_for_answers(void **state)
{
	struct org_share *s = org_share_new(4);

	(void)state;
	assert_true(org_share_wait(s, 0, "acme", SHARE_ANSWER));
	assert_true(org_share_wait(s, 1, "acme", SHARE_ANSWER));
	assert_false(org_share_wait(s, 2, "acme", SHARE_ANSWER));
	assert_true(org_share_wait(s, 2, "other", SHARE_ANSWER));
	assert_false(org_share_wait(s, 3, "third", SHARE_ANSWER));
	org_share_leave(s, 0);
	assert_true(org_share_wait(s, 3, "third", SHARE_ANSWER));
}

static void
one_of_few_may_wait_but_never_the_only_one_for_events(void **state)
{
	struct org_share *two = org_share_new(2), *one = org_share_new(1);

	(void)state;
	assert_true(org_share_wait(two, 1, "acme", SHARE_EVENT));
	assert_false(org_share_wait(two, 0, "other", SHARE_EVENT));
	assert_false(org_share_wait(two, 0, "other", SHARE_ANSWER));
	assert_false(org_share_wait(one, 0, "acme", SHARE_EVENT));
	assert_true(org_share_wait(one, 0, "acme", SHARE_ANSWER));
}

static void
a_wrapper_that_did_not_answer_is_left_alone_for_a_while(void **state)
{
	struct org_share *s = org_share_new(2);

	(void)state;
	assert_false(org_share_is_mute(s, "a.1"));
	org_share_mute(s, "a.1");
	assert_true(org_share_is_mute(s, "a.1"));
	assert_false(org_share_is_mute(s, "a.2"));
	assert_false(org_share_is_mute(s, "b.1"));
	now_ms += 3999;
	assert_true(org_share_is_mute(s, "a.1"));
	now_ms += 1001;
	assert_false(org_share_is_mute(s, "a.1"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_within_the_share_may_take_its_time),
		cmocka_unit_test(calls_count_from_their_first_moment),
		cmocka_unit_test(
		    a_call_that_may_last_never_goes_beyond_the_share),
		cmocka_unit_test(credit_beyond_the_share_ends),
		cmocka_unit_test(an_org_alone_needs_no_credit),
		cmocka_unit_test(calls_within_the_share_cost_no_credit),
		cmocka_unit_test(a_call_that_reads_counts_and_is_never_refused),
		cmocka_unit_test(a_worker_does_not_stand_in_its_own_way),
		cmocka_unit_test(a_single_worker_serves_everybody),
		cmocka_unit_test(of_two_workers_one_is_for_the_others),
		cmocka_unit_test(all_processes_see_one_table),
		cmocka_unit_test(
		    a_quarter_may_wait_for_events_and_one_org_half_of_that),
		cmocka_unit_test(
		    a_quarter_is_left_by_those_who_wait_for_answers),
		cmocka_unit_test(
		    one_of_few_may_wait_but_never_the_only_one_for_events),
		cmocka_unit_test(
		    a_wrapper_that_did_not_answer_is_left_alone_for_a_while),
	};

	return cmocka_run_group_tests_name("share", tests, NULL, NULL);
}
