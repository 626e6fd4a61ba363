/* child_test.c: tests the table of children: turns, pins and ends. */
#include "t/unit/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/child/child.h"
#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"

enum { MOST = 2 };

/* How many entries left the table or were freed; changed under its lock. */
static int removed, destroyed;

static void
note_removed(struct child_entry *c)
{
	(void)c;
	removed++;
}

static void
destroy(struct child_entry *c)
{
	free(c);
	destroyed++;
}

static struct child_table table = { .one = "thing",
	.many = "things",
	.failed = CODE_PROCESS_ERROR,
	.too_many = CODE_TOO_MANY_PROCESSES,
	.living_max = MOST,
	.removed = note_removed,
	.destroy = destroy,
	.lock = LOCK_INIT(LOCK_PROCESS),
	.changed = PTHREAD_COND_INITIALIZER };

static struct child_entry *
make(const char *id)
{
	struct child_entry *c = xcalloc(1, sizeof(*c));

	child_init(c, &table, id);
	return c;
}

static int
begin(void **state)
{
	(void)state;
	removed = destroyed = 0;
	return 0;
}

static void
an_entry_lives_as_long_as_it_is_held(void **state)
{
	struct child_entry *old = make("a"), *new = make("a"), **all;
	size_t count;

	(void)state;
	child_enter(old);
	assert_ptr_equal(child_find(&table, "a"), old);
	assert_null(child_find(&table, "b"));
	child_enter(new); /* replaces the old entry */
	assert_int_equal(removed, 1);
	assert_false(old->listed);
	child_remove(old); /* the table no longer has the entry */
	assert_int_equal(removed, 1);
	all = child_all(&table, &count);
	assert_int_equal(count, 1);
	assert_ptr_equal(all[0], new);
	child_release(all[0]);
	free(all);
	child_release(old);
	assert_int_equal(destroyed, 0);
	child_release(old);
	assert_int_equal(destroyed, 1);
	child_release(new);
	child_remove(new);
	assert_int_equal(destroyed, 2);
}

static void
as_many_live_as_may(void **state)
{
	struct child_entry *one = make("1"), *two = make("2");
	struct err e;

	(void)state;
	child_enter(one);
	assert_int_equal(child_admit(&table, &e), 0);
	child_enter(two);
	assert_int_equal(child_admit(&table, &e), -1);
	assert_int_equal(e.kind, ERR_LIMITED);
	assert_string_equal(e.msg,
	    "only 2 things may run at a time; end one of them");
	child_ended(one);
	assert_int_equal(child_admit(&table, &e), 0);
	child_remove(one);
	child_remove(two);
	child_release(one);
	child_release(two);
	assert_int_equal(destroyed, 2);
}

static void
one_thread_at_a_time_writes_to_what_lives(void **state)
{
	struct child_entry *c = make("a");

	(void)state;
	child_lock(&table);
	assert_true(child_take_turn(c, 0));
	assert_false(child_take_turn(c, 1));
	child_give_turn(c);
	assert_true(child_take_turn(c, 0));
	child_give_turn(c);
	child_ended(c);
	assert_false(child_take_turn(c, PATIENCE_MS));
	child_unlock(&table);
	child_release(c);
}

/* ---- children that run */

static int exit_code;

static void
finish(struct child_entry *c)
{
	int code = spawn_wait(&c->child);

	child_lock(&table);
	exit_code = code;
	child_ended(c);
	child_unlock(&table);
	child_let_go(c);
}

/* Starts a child that is in the table, and not yet watched by the loop. */
static struct child_entry *
start(void)
{
	const char *const argv[] = { "/bin/sleep", "1000", NULL };
	char *envp[] = { NULL };
	auto_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct child_entry *c = make("running");
	struct err e;

	child_prepare(c, finish);
	assert_int_equal(spawn_start(&(struct spawn){ .argv = argv,
					 .envp = envp,
					 .cwd = "/",
					 .in = null,
					 .out = null,
					 .err = null },
			     &c->child, &e),
	    0);
	child_lock(&table);
	child_enter(c);
	child_unlock(&table);
	return c;
}

static struct child_entry *
run(void)
{
	struct child_entry *c = start();
	struct err e;

	assert_int_equal(child_attach(c, &e), 0);
	return c;
}

static bool
wait_end(struct child_entry *c, int64_t ms)
{
	int64_t end = clock_ms() + ms;
	bool ended;

	child_lock(&table);
	while (!c->ended && child_wait(&table, end))
		;
	ended = c->ended;
	child_unlock(&table);
	return ended;
}

static void
forget(struct child_entry *c)
{
	child_lock(&table);
	child_remove(c);
	child_unlock(&table);
	child_release(c);
}

static void
a_pin_keeps_the_number(void **state)
{
	/* wait: the child must not end in it; a slow machine cannot break that */
	enum { A_WHILE_MS = 200 };
	struct child_entry *c = run();

	(void)state;
	assert_true(child_pin(c));
	assert_int_equal(kill(c->child.pid, SIGKILL), 0);
	assert_false(wait_end(c, A_WHILE_MS));
	assert_int_equal(kill(c->child.pid, 0), 0); /* its pid is kept */
	child_unpin(c);
	assert_true(wait_end(c, PATIENCE_MS));
	assert_int_equal(exit_code, 128 + SIGKILL);
	assert_false(child_pin(c));
	forget(c);
}

static void
what_is_ended_has_ended(void **state)
{
	struct child_entry *c = run();

	(void)state;
	assert_true(child_lives(c));
	assert_true(child_end_all(&c, 1));
	assert_false(child_lives(c));
	assert_int_equal(exit_code, 128 + SIGTERM);
	assert_true(child_end_all(&c, 1)); /* the child has ended before */
	forget(c);
}

static void
one_may_end_before_the_loop_watches_it(void **state)
{
	struct child_entry *c = start();
	struct err e;

	(void)state;
	assert_true(child_end_all(&c, 1));
	assert_int_equal(child_attach(c, &e), 0); /* sends no signal */
	assert_false(child_lives(c));
	forget(c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(an_entry_lives_as_long_as_it_is_held,
		    begin),
		cmocka_unit_test_setup(as_many_live_as_may, begin),
		cmocka_unit_test_setup(
		    one_thread_at_a_time_writes_to_what_lives, begin),
		cmocka_unit_test(a_pin_keeps_the_number),
		cmocka_unit_test(what_is_ended_has_ended),
		cmocka_unit_test(one_may_end_before_the_loop_watches_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
