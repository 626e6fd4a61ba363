/* share_test.c: no org holds more than half of the workers for long. */
#include "../unit.h"

#include <sys/wait.h>
#include <unistd.h>

#include "api/share.h"

/* The clock of share.c (--wrap) goes on only when the test says so. */
static int64_t now_ms = 5000;

int64_t __wrap_clock_ms(void);

int64_t
__wrap_clock_ms(void)
{
	return now_ms;
}

/* Longer than a call may take before it counts as hanging. */
static void
let_them_hang(void)
{
	now_ms += 1001;
}

static void
a_burst_may_use_every_worker(void **state)
{
	struct share *s = share_new(4);
	struct err e = { 0 };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(share_enter(s, i, "acme", &e), 0);
		now_ms += 250;
	}
}

static void
half_of_them_hanging_is_enough(void **state)
{
	struct share *s = share_new(4);
	struct err e = { 0 };

	(void)state;
	assert_int_equal(share_enter(s, 0, "acme", &e), 0);
	assert_int_equal(share_enter(s, 1, "acme", &e), 0);
	let_them_hang();
	assert_int_equal(share_enter(s, 2, "acme", &e), -1);
	assert_int_equal(e.kind, ERR_LIMITED);
	assert_int_equal(err_status(&e), 429);
	assert_true(err_retry_after_seconds(&e) > 0);
	/* the others are served, and so is acme once one has come back */
	assert_int_equal(share_enter(s, 2, "other", &e), 0);
	share_leave(s, 0);
	assert_int_equal(share_enter(s, 3, "acme", &e), 0);
}

static void
a_worker_does_not_stand_in_its_own_way(void **state)
{
	struct share *s = share_new(2);
	struct err e = { 0 };

	(void)state;
	assert_int_equal(share_enter(s, 0, "acme", &e), 0);
	let_them_hang();
	assert_int_equal(share_enter(s, 0, "acme", &e), 0);
}

static void
a_single_worker_serves_everybody(void **state)
{
	struct share *s = share_new(1);
	struct err e = { 0 };

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(share_enter(s, 0, "acme", &e), 0);
}

static void
all_processes_see_one_table(void **state)
{
	struct share *s = share_new(2);
	struct err e = { 0 };
	int status;
	pid_t pid;

	(void)state;
	pid = fork();
	if (pid == 0)
		_exit(share_enter(s, 1, "acme", &e) == 0 ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	let_them_hang();
	assert_int_equal(share_enter(s, 0, "acme", &e), -1);
}

static void
a_quarter_may_wait_and_one_org_half_of_that(void **state)
{
	struct share *s = share_new(16);

	(void)state;
	assert_true(share_wait(s, 0, "acme"));
	assert_true(share_wait(s, 1, "acme"));
	assert_false(share_wait(s, 2, "acme"));
	assert_true(share_wait(s, 2, "other"));
	assert_true(share_wait(s, 3, "third"));
	assert_false(share_wait(s, 4, "fourth"));
	/* who was refused holds no place, who leaves gives it back */
	share_leave(s, 0);
	assert_true(share_wait(s, 4, "acme"));
	assert_false(share_wait(s, 5, "other"));
}

static void
one_of_few_may_wait_but_never_the_only_one(void **state)
{
	struct share *two = share_new(2), *one = share_new(1);

	(void)state;
	assert_true(share_wait(two, 1, "acme"));
	assert_false(share_wait(two, 0, "other"));
	assert_false(share_wait(one, 0, "acme"));
}

static void
waiting_is_not_being_refused_other_calls(void **state)
{
	struct share *s = share_new(4);
	struct err e = { 0 };

	(void)state;
	assert_true(share_wait(s, 0, "acme"));
	for (size_t i = 1; i < 4; i++)
		assert_int_equal(share_enter(s, i, "acme", &e), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_burst_may_use_every_worker),
		cmocka_unit_test(half_of_them_hanging_is_enough),
		cmocka_unit_test(a_worker_does_not_stand_in_its_own_way),
		cmocka_unit_test(a_single_worker_serves_everybody),
		cmocka_unit_test(all_processes_see_one_table),
		cmocka_unit_test(a_quarter_may_wait_and_one_org_half_of_that),
		cmocka_unit_test(one_of_few_may_wait_but_never_the_only_one),
		cmocka_unit_test(waiting_is_not_being_refused_other_calls),
	};

	return cmocka_run_group_tests_name("share", tests, NULL, NULL);
}
