/* proctree_test.c: tests finding and ending all descendants of a process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/proctree.h"
#include "common/mem.h"

static void
a_name_may_hold_anything(void **state)
{
	static const char LINE[] =
	    "42 (a) b) S (x) R 7 1 1 0 -1 4194560 147 0 0 0 0 0 0 0 20 0 1 0 "
	    "123456789 3000 1\n";
	uint64_t start = 0;
	pid_t pid = 0, ppid = 0;
	char what = 0;

	(void)state;
	assert_int_equal(proctree_parse(LINE, &pid, &what, &ppid, &start), 0);
	assert_int_equal(pid, 42);
	assert_int_equal(ppid, 7);
	assert_int_equal(what, 'R');
	assert_int_equal(start, 123456789);
	assert_int_equal(proctree_parse("", &pid, &what, &ppid, &start), -1);
	assert_int_equal(proctree_parse("1 (x) R", &pid, &what, &ppid, &start),
	    -1);
}

static void
a_process_lives_while_it_has_a_thread(void **state)
{
	static const char LINE[] =
	    "42 (x) Z 7 1 1 0 -1 4194560 147 0 0 0 0 0 0 0 20 0 %d 0 123 0 0\n";
	static const struct {
		int threads;
		char state;
	} CASES[] = { { 1, 'Z' }, { 2, 'S' }, { 100, 'S' } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		auto_free char *line = xasprintf(LINE, CASES[i].threads);
		uint64_t start;
		pid_t pid, ppid;
		char what;

		assert_int_equal(
		    proctree_parse(line, &pid, &what, &ppid, &start), 0);
		assert_int_equal(what, CASES[i].state);
	}
}

/* Makes a subreaper with a child, a grandchild and a double-forked process. */
static pid_t
make_tree(int *ready)
{
	int ends[2];
	pid_t root;
	char byte;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	root = fork();
	if (root == 0) {
		prctl(PR_SET_CHILD_SUBREAPER, 1);
		if (fork() == 0) {
			if (fork() == 0) {
				setsid();
				(void)!write(ends[1], "g", 1);
			} else {
				(void)!write(ends[1], "c", 1);
			}
		} else if (fork() == 0) {
			if (fork() > 0)
				_exit(0);
			setsid();
			(void)!write(ends[1], "d", 1);
		}
		for (;;)
			pause();
	}
	for (int i = 0; i < 3; i++)
		assert_int_equal(read(ends[0], &byte, 1), 1);
	close(ends[1]);
	*ready = ends[0];
	return root;
}

static void
a_tree_ends_with_all_its_branches(void **state)
{
	auto_tree struct proctree all = { 0 };
	int ready;
	pid_t root = make_tree(&ready);
	char byte;

	(void)state;
	do {
		/* until the middle process of the double fork has ended */
		proctree_free(&all);
		proctree_take(root, &all);
	} while (all.count != 3);
	assert_int_equal(proctree_kill(root, NULL), 0);
	assert_int_equal(waitpid(root, NULL, 0), root);
	/* end of file: every process that held the pipe is gone */
	assert_int_equal(read(ready, &byte, 1), 0);
	close(ready);
}

static void
what_was_there_before_is_spared(void **state)
{
	auto_tree struct proctree before = { 0 };
	int ready;
	pid_t root = make_tree(&ready);
	char byte;

	(void)state;
	do {
		proctree_free(&before);
		proctree_take(root, &before);
	} while (before.count != 3);
	assert_int_equal(proctree_kill(root, &before), 0);
	assert_int_equal(waitpid(root, NULL, 0), root);
	for (size_t i = 0; i < before.count; i++) {
		assert_int_equal(kill(before.procs[i].pid, 0), 0);
		kill(before.procs[i].pid, SIGKILL);
	}
	assert_int_equal(read(ready, &byte, 1), 0);
	close(ready);
}

static pid_t
make_child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	return pid;
}

static void
end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/*
 * Repeated, so that both children and the moment between them fall into one
 * tick at least once.  Skipped when the pids wrapped around in between, because
 * the whole machine uses them up.
 */
static void
a_moment_parts_even_a_tick(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++) {
		auto_tree struct proctree older = { 0 };
		pid_t before = make_child();
		struct proc_moment moment = proctree_now();
		pid_t after = make_child();

		proctree_older(getpid(), moment, &older);
		if (before < after) {
			assert_int_equal(older.count, 1);
			assert_int_equal(older.procs[0].pid, before);
		}
		end_child(before);
		end_child(after);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_may_hold_anything),
		cmocka_unit_test(a_process_lives_while_it_has_a_thread),
		cmocka_unit_test(a_tree_ends_with_all_its_branches),
		cmocka_unit_test(what_was_there_before_is_spared),
		cmocka_unit_test(a_moment_parts_even_a_tick),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
