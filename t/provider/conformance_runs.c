/* conformance_runs.c: tests of limited runs in a cell, and their cgroups. */
#include "suite.h"

#include <stdlib.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"
#include "provider/link/attempt.h"

/* wait: the longest of one question; they are repeated */
enum { WAIT_MS = 10000, MEMORY_MB = 64, PIDS = 40 };

/* does not end: a watchdog looks only every 100 ms */
#define HOG                                                                    \
	"/usr/bin/python3 -c 'import signal; x = b\"x\" * (200 << 20);"        \
	" signal.pause()'"
#define FORKS                                                                  \
	"for i in $(seq 60); do sleep 5 & done 2>/dev/null; jobs -p | wc -l"
#define DAEMON "(setsid sleep 4321 >/dev/null 2>&1 &); echo begun"

static struct agent_target
launched(const struct sandbox_spec *s)
{
	static const struct agent_launch PLAIN = { 0 };
	struct agent_target t = a_target(s);

	works(agent_launch(&P, s, &t, &PLAIN, soon(), &E));
	return t;
}

static struct run_spec
a_run(const struct agent_target *t, const char *name)
{
	struct run_spec r = { .memory_mb = MEMORY_MB, .pids = PIDS };

	str_copy(r.sandbox, sizeof(r.sandbox), t->sandbox);
	str_copy(r.session, sizeof(r.session), t->session);
	str_copy(r.run, sizeof(r.run), name);
	return r;
}

/* Runs a command with groups of its own, to its end; *by: they limit it. */
static void
run(const struct agent_target *t, const char *name, const char *command,
    struct agent_attempt *a, bool *by)
{
	struct run_spec r = a_run(t, name);
	auto_run_group struct run_group g = { 0 };
	auto_json json_t *spec = json_pack("{s:s, s:{s:i}}", "command", command,
	    "limits", "memoryMb", MEMORY_MB);
	auto_free char *text = json_text(spec);
	int64_t end = soon();
	bool runs;

	works(P.ops->run_open(&P, &r, &g, &E));
	*by = g.limits_memory && g.limits_pids;
	works(agent_attempt_put(&P, t, name, text, &g, end, &runs, &E));
	do {
		agent_attempt_free(a);
		works(agent_attempt_ask(&P, t, name, 0, WAIT_MS, end, a, &E));
		assert_true(a->known && clock_left_ms(end) > 0);
	} while (a->state != AGENT_ATTEMPT_ENDED);
	works(P.ops->run_remove(&P, &r, soon(), &E));
	works(P.ops->run_remove(&P, &r, soon(), &E));
}

static void
assert_run(const struct agent_target *t, const char *name, const char *command,
    const char *reason)
{
	auto_attempt struct agent_attempt a = { 0 };
	bool by;

	run(t, name, command, &a, &by);
	assert_string_equal(a.reason, reason);
}

static void
a_run_is_limited_measured_and_gone(void **state)
{
	struct sandbox_spec s = a_sandbox();
	auto_attempt struct agent_attempt a = { 0 };
	struct agent_target t;
	bool by, gone;

	(void)state;
	ensure(&s);
	t = launched(&s);
	run(&t, "a.1", "echo hello; exit 3", &a, &by);
	assert_string_equal(a.reason, "failed");
	assert_int_equal(a.exit_code, 3);
	assert_string_equal(a.output.data, "hello\n");
	assert_true(
	    json_integer_value(json_object_get(a.usage, "memoryPeak")) > 0);
	assert_run(&t, "b.1", HOG, "memory_exceeded");
	/* the wrapper and its shells are in other groups */
	works(agent_prove(&P, &t, soon(), &E));
	agent_attempt_free(&a);
	run(&t, "c.1", FORKS, &a, &by);
	if (by)
		assert_true(atoi(a.output.data) < PIDS);
	/* a daemon would keep the group, and run_remove() would fail */
	assert_run(&t, "d.1", DAEMON, "succeeded");
	works(agent_kill(&P, &t, 5000, soon(), &(struct agent_wrappers){ 0 },
	    &E));
	works(P.ops->cell_gone(&P, t.sandbox, t.session, &gone, &E));
	assert_true(gone);
	/* in v2 the group of the next one may still have leaves */
	t.generation = 2;
	works(
	    agent_launch(&P, &s, &t, &(struct agent_launch){ 0 }, soon(), &E));
	works(agent_prove(&P, &t, soon(), &E));
	assert_run(&t, "e.1", "true", "succeeded");
	destroy(&s);
}

static void
a_run_can_be_opened_twice_and_its_cell_must_be_there(void **state)
{
	struct sandbox_spec s = a_sandbox();
	auto_run_group struct run_group first = { 0 }, second = { 0 };
	struct agent_wrappers found;
	struct agent_target t;
	struct run_spec r;
	bool gone;

	(void)state;
	ensure(&s);
	t = launched(&s);
	r = a_run(&t, "a.1");
	works(P.ops->run_open(&P, &r, &first, &E));
	works(P.ops->run_open(&P, &r, &second, &E));
	assert_int_equal(first.join_count, second.join_count);
	assert_int_equal(first.meter_count, second.meter_count);
	works(agent_kill(&P, &t, 5000, soon(), &found, &E));
	works(P.ops->cell_gone(&P, t.sandbox, t.session, &gone, &E));
	assert_true(gone); /* with the group of a run that never began */
	run_group_close(&second);
	if (first.join_count > 0)
		refuses(P.ops->run_open(&P, &r, &second, &E),
		    CODE_LEASE_CHANGED);
	destroy(&s);
}

const struct CMUnitTest SUITE_RUNS[] = {
	cmocka_unit_test(a_run_is_limited_measured_and_gone),
	cmocka_unit_test(a_run_can_be_opened_twice_and_its_cell_must_be_there),
	{ 0 },
};
