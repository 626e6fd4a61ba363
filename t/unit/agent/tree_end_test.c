/* tree_end_test.c: tests that trees of processes are ended with grace. */
#include "t/unit/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/spawn.h"
#include "agent/base/tree_end.h"
#include "common/clock.h"
#include "common/mem.h"

/*
 * The grace period (--wrap) never ends here: on a slow machine its end would be
 * a kill, and `over` tells the two apart.
 */
int __wrap_clock_left_ms(int64_t deadline_ms);

int
__wrap_clock_left_ms(int64_t deadline_ms)
{
	(void)deadline_ms;
	return PATIENCE_MS;
}

/*
 * Starts a shell that runs `script`, and waits for its first line; the rest of
 * the output comes out of *out.
 */
static void
begin(const char *script, struct child *c, int *out)
{
	const char *const argv[] = { "/bin/bash", "-c", script, NULL };
	char path[] = "PATH=/usr/bin:/bin", line[8];
	char *envp[] = { path, NULL };
	auto_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct err e;
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(spawn_start(&(struct spawn){ .argv = argv,
					 .envp = envp,
					 .cwd = "/",
					 .in = null,
					 .out = ends[1],
					 .err = null },
			     c, &e),
	    0);
	close(ends[1]);
	*out = ends[0];
	assert_int_equal(read(*out, line, 6), 6);
	assert_memory_equal(line, "ready\n", 6);
}

/* Reads until the last process that could write has ended. */
static void
expect_rest(int out, const char *wanted)
{
	char text[64];
	size_t len = 0;
	ssize_t n;

	while ((n = read(out, text + len, sizeof(text) - 1 - len)) > 0)
		len += (size_t)n;
	text[len] = '\0';
	assert_string_equal(text, wanted);
	close(out);
}

/*
 * Waits until the last background job has become `sleep`.  Before that the job
 * is a copy of the shell, with the shell's trap: a signal that comes then is
 * caught and lost with the exec, and no signal is sent twice.
 */
#define IS_SLEEP                                                               \
	" until read -r c </proc/$!/comm && [ \"$c\" = sleep ]; do :; done; "

static void
trees_end_side_by_side_and_whole(void **state)
{
	static const struct {
		const char *script, *rest;
		int exit_code;
		bool hang_up;
	} CASES[] = {
		/* the shell does not go on with its list */
		{ "sleep 1000 & echo ready; sleep 1000; echo next", "",
		    128 + SIGTERM, false },
		/* children with a session of their own, or without a parent */
		{ "setsid sleep 1000 & (sleep 1000 &); echo ready; wait", "",
		    128 + SIGTERM, false },
		/* a child that tidies up and gets one signal;
		 * wait: of the child, its end is waited for */
		{ "bash -c 'trap \"echo bye; sleep 0.1; exit\" TERM; echo ready;"
		  " while :; do sleep 0.01; done'; echo next",
		    "bye\n", 128 + SIGTERM, false },
		/* the root's own trap runs after all others have ended */
		{ "trap 'echo last; exit 7' TERM; sleep 1000 &" IS_SLEEP
		  "echo ready; wait",
		    "last\n", 7, false },
		/* like interactive shells: SIGTERM is ignored, SIGHUP is not */
		{ "trap '' TERM; trap 'echo left; exit 8' HUP; sleep 1000 &" IS_SLEEP
		  "echo ready; wait",
		    "left\n", 8, true },
		/* a stopped process gets the signal, too */
		{ "sleep 1000 & kill -STOP $!; echo ready; kill -STOP $$", "",
		    128 + SIGTERM, false },
	};
	struct tree_end trees[ARRAY_LEN(CASES)];
	struct child c[ARRAY_LEN(CASES)];
	int out[ARRAY_LEN(CASES)];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		begin(CASES[i].script, &c[i], &out[i]);
		trees[i] = (struct tree_end){ .root = c[i].pid,
			.pidfd = c[i].pidfd,
			.hang_up = CASES[i].hang_up };
	}
	tree_end_all(trees, ARRAY_LEN(CASES));
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		assert_true(trees[i].over);
		assert_int_equal(spawn_wait(&c[i]), CASES[i].exit_code);
		expect_rest(out[i], CASES[i].rest);
	}
}

static void
one_that_has_ended_is_over(void **state)
{
	struct child c;
	struct tree_end t;
	int out;

	(void)state;
	begin("echo ready; exit 3", &c, &out);
	expect_rest(out, "");
	t = (struct tree_end){ .root = c.pid, .pidfd = c.pidfd };
	tree_end_all(&t, 1);
	assert_int_equal(spawn_wait(&c), 3);
	tree_end_all(NULL, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trees_end_side_by_side_and_whole),
		cmocka_unit_test(one_that_has_ended_is_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
