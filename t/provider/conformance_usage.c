/* conformance_usage.c: tests how the processes of a sandbox are measured. */
#include "suite.h"

#include <stdlib.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/str.h"

/* wait: limits against hanging; one question is repeated until the end */
enum { SETUP_MS = 60000, ASK_MS = 1000, HOG_MB = 96, SLEEPS = 5 };

/* Burns processor time, then leaves a large process and some idle ones. */
#define WORK                                                                    \
	"python3 -c 'for i in range(5000000): pass'; "                          \
	"for i in 1 2 3 4 5; do sleep 4321 >/dev/null 2>&1 & done; "            \
	"python3 -c 'import time; x = b\"x\" * (96 << 20); "                    \
	"open(\"/workspace/has\", \"w\"); time.sleep(4321)' >/dev/null 2>&1 & " \
	"until test -e /workspace/has; do sleep 0.1; done"

static struct usage
measure(const char *sandbox, const struct agent_target *t)
{
	struct agent_target whole = { 0 };
	struct usage u;

	str_copy(whole.sandbox, sizeof(whole.sandbox), sandbox);
	if (t == NULL) {
		struct sandbox_seen seen;

		works(P.ops->inspect(&P, sandbox, &seen, &E));
		str_copy(whole.incarnation, sizeof(whole.incarnation),
		    seen.incarnation);
	}
	works(P.ops->usage(&P, t != NULL ? t : &whole, soon(), &u, &E));
	return u;
}

static void
assert_unknown(const struct usage *u)
{
	assert_false(u->running);
	assert_int_equal(u->cpu_us, -1);
	assert_int_equal(u->cpu_user_us, -1);
	assert_int_equal(u->cpu_sys_us, -1);
	assert_int_equal(u->memory_bytes, -1);
	assert_int_equal(u->memory_peak_bytes, -1);
	assert_int_equal(u->processes, -1);
	assert_int_equal(u->threads, -1);
}

static bool
memory_is_counted(const struct sandbox_spec *s)
{
	auto_json json_t *limits = P.ops->limits(&P, s);

	/* the watchdog's sum is init's, and init tells it */
	return !is_local() || str_equal(CONF.cgroup_root, "none") ||
	    str_equal(json_str(json_object_get(limits, "memoryMb"), "by"),
		"cgroup");
}

static void
a_number_of_nothing_is_unknown(void **state)
{
	struct sandbox_spec s = a_sandbox();
	struct agent_target t;
	struct usage u = measure(s.id, NULL);

	(void)state;
	assert_unknown(&u);
	ensure(&s);
	t = a_target(&s); /* its directories, without a cell */
	u = measure(s.id, &t);
	assert_unknown(&u);
	works(P.ops->stop(&P, s.id, s.incarnation, soon(), &E));
	u = measure(s.id, NULL);
	assert_unknown(&u);
	destroy(&s);
}

static void
a_sandbox_and_each_of_its_cells_are_measured(void **state)
{
	static const struct agent_launch PLAIN = { 0 };
	struct sandbox_spec s = a_sandbox();
	struct agent_wrappers found;
	struct agent_target t, other;
	struct usage whole, cell;

	(void)state;
	ensure(&s);
	whole = measure(s.id, NULL);
	assert_true(whole.running && whole.processes >= 1);
	t = a_target(&s);
	works(agent_launch(&P, &s, &t, &PLAIN, soon(), &E));
	other = a_target(&s);
	works(agent_launch(&P, &s, &other, &PLAIN, soon(), &E));
	cell = measure(s.id, &t);
	assert_true(cell.running && cell.processes >= 1);
	assert_true(cell.cpu_us >= 0);
	if (memory_is_counted(&s))
		assert_true(cell.memory_bytes > 0);
	whole = measure(s.id, NULL);
	assert_true(whole.processes >= 1 + 2 * cell.processes);
	assert_true(whole.cpu_us >= cell.cpu_us);
	works(agent_kill(&P, &t, 5000, soon(), &found, &E));
	cell = measure(s.id, &t);
	assert_unknown(&cell);
	cell = measure(s.id, &other);
	assert_true(cell.running);
	destroy(&s);
}

/* Runs WORK in the session, which leaves processes behind. */
static void
work(const struct agent_target *t)
{
	struct agent_setup a = { .command = WORK, .timeout_ms = SETUP_MS };
	int64_t end = soon();

	do {
		a.wait_ms = ASK_MS;
		works(agent_setup(&P, t, &a, end, &E));
		free(a.output);
		a.output = NULL;
		assert_true(clock_left_ms(end) > 0);
	} while (!a.done);
	assert_int_equal(a.exit_code, 0);
}

static void
work_raises_the_numbers_of_its_cell_alone(void **state)
{
	static const struct agent_launch PLAIN = { 0 };
	enum { MB = 1 << 20, WORKED_US = 50 * 1000 };
	struct sandbox_spec s = a_sandbox();
	struct agent_target t, other;
	struct usage before, after, idle;

	(void)state;
	ensure(&s);
	t = a_target(&s);
	works(agent_launch(&P, &s, &t, &PLAIN, soon(), &E));
	other = a_target(&s);
	works(agent_launch(&P, &s, &other, &PLAIN, soon(), &E));
	before = measure(s.id, &t);
	work(&t);
	after = measure(s.id, &t);
	idle = measure(s.id, &other);
	assert_true(after.cpu_us >= before.cpu_us + WORKED_US);
	assert_true(idle.cpu_us < after.cpu_us);
	assert_true(after.processes >= before.processes + SLEEPS + 1);
	assert_true(idle.processes < after.processes);
	if (memory_is_counted(&s)) {
		assert_true(after.memory_bytes >= HOG_MB * MB);
		assert_true(idle.memory_bytes < HOG_MB * MB);
	}
	if (after.memory_peak_bytes >= 0)
		assert_true(after.memory_peak_bytes >= HOG_MB * MB);
	after = measure(s.id, NULL);
	if (memory_is_counted(&s))
		assert_true(after.memory_bytes >= HOG_MB * MB);
	destroy(&s);
}

const struct CMUnitTest SUITE_USAGE[] = {
	cmocka_unit_test(a_number_of_nothing_is_unknown),
	cmocka_unit_test(a_sandbox_and_each_of_its_cells_are_measured),
	{ 0 },
};

const struct CMUnitTest SUITE_WORK[] = {
	cmocka_unit_test(work_raises_the_numbers_of_its_cell_alone),
	{ 0 },
};
