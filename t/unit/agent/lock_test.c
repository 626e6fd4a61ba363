/* lock_test.c: tests that the agent aborts when it takes locks out of order. */
#include "t/unit/unit.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* on in this test, also when this build was configured without */
#ifndef WITH_LOCK_CHECK
#define WITH_LOCK_CHECK 1
#endif
#include "agent/base/lock.h"
#include "common/clock.h"

static struct lock shell = LOCK_INIT(LOCK_SHELL);
static struct lock interrupt = LOCK_INIT(LOCK_INTERRUPT);
static struct lock envset = LOCK_INIT(LOCK_ENVSET);
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

/* Calls fn in a child, which must abort() and print `wanted` before. */
static void
expect_abort(void (*fn)(void), const char *wanted)
{
	char said[1024];
	size_t len = 0;
	int ends[2], status;
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		signal(SIGABRT, SIG_DFL);  /* cmocka has set a handler */
		alarm(PATIENCE_MS / 1000); /* the child may deadlock instead */
		dup2(ends[1], STDERR_FILENO);
		fn();
		_exit(0);
	}
	close(ends[1]);
	while (len < sizeof(said) - 1 &&
	    (n = read(ends[0], said + len, sizeof(said) - 1 - len)) > 0)
		len += (size_t)n;
	said[len] = '\0';
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
	if (strstr(said, wanted) == NULL)
		fail_msg("it said: %s", said);
}

/* ---- in order */

static void
locks_may_be_taken_from_the_first_to_the_last(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		lock_take(&shell);
		lock_take(&interrupt);
		lock_take(&envset);
		lock_drop(&envset);
		lock_drop(&interrupt);
		lock_drop(&shell);
	}
}

static void
a_lock_that_was_dropped_does_not_count(void **state)
{
	(void)state;
	lock_take(&shell);
	lock_take(&envset);
	lock_drop(&shell);
	lock_drop(&envset);
	lock_take(&interrupt);
	lock_drop(&interrupt);
	lock_take(&shell);
	lock_drop(&shell);
}

static void *
take_shell(void *arg)
{
	lock_take(&shell);
	lock_drop(&shell);
	return arg;
}

static void
a_thread_is_judged_by_its_own_locks(void **state)
{
	pthread_t other;

	(void)state;
	lock_take(&envset);
	assert_int_equal(pthread_create(&other, NULL, take_shell, NULL), 0);
	assert_int_equal(pthread_join(other, NULL), 0);
	lock_drop(&envset);
}

static void
a_lock_is_held_again_after_a_wait(void **state)
{
	(void)state;
	lock_take(&interrupt);
	assert_false(lock_wait_until(&never, &interrupt, clock_ms()));
	lock_drop(&interrupt);
}

static void
a_lock_can_be_made_at_run_time(void **state)
{
	struct lock call;

	(void)state;
	lock_init(&call, LOCK_WS_CALL);
	lock_take(&call);
	lock_take(&shell);
	lock_drop(&shell);
	lock_drop(&call);
	lock_destroy(&call);
}

/* ---- out of order */

static void
take_shell_after_envset(void)
{
	lock_take(&envset);
	lock_take(&shell);
}

static void
an_earlier_lock_is_refused_with_both_names(void **state)
{
	(void)state;
	expect_abort(take_shell_after_envset,
	    "lock order: `shell` taken while `envset` is held");
}

static void
take_shell_after_interrupt_and_envset(void)
{
	lock_take(&interrupt);
	lock_take(&envset);
	lock_drop(&envset);
	lock_take(&shell);
}

static void
the_name_is_that_of_a_lock_still_held(void **state)
{
	(void)state;
	expect_abort(take_shell_after_interrupt_and_envset,
	    "lock order: `shell` taken while `interrupt` is held");
}

static void
take_shell_twice(void)
{
	lock_take(&shell);
	lock_take(&shell);
}

static void
a_lock_is_refused_to_the_thread_that_holds_it(void **state)
{
	(void)state;
	expect_abort(take_shell_twice,
	    "lock order: `shell` taken while `shell` is held");
}

static void
drop_shell(void)
{
	lock_drop(&shell);
}

static void
wait_without_lock(void)
{
	(void)lock_wait_until(&never, &shell, clock_ms());
}

static void
a_lock_is_dropped_and_waited_with_only_by_its_holder(void **state)
{
	(void)state;
	expect_abort(drop_shell, "lock order: `shell` is not held");
	expect_abort(wait_without_lock, "lock order: `shell` is not held");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(locks_may_be_taken_from_the_first_to_the_last),
		cmocka_unit_test(a_lock_that_was_dropped_does_not_count),
		cmocka_unit_test(a_thread_is_judged_by_its_own_locks),
		cmocka_unit_test(a_lock_is_held_again_after_a_wait),
		cmocka_unit_test(a_lock_can_be_made_at_run_time),
		cmocka_unit_test(an_earlier_lock_is_refused_with_both_names),
		cmocka_unit_test(the_name_is_that_of_a_lock_still_held),
		cmocka_unit_test(a_lock_is_refused_to_the_thread_that_holds_it),
		cmocka_unit_test(
		    a_lock_is_dropped_and_waited_with_only_by_its_holder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
