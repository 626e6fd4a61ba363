/* statistics_world.c: tests samples of sessions, with a provider that fails. */
#include "world.h"

#include "common/mem.h"
#include "control/statistics.h"
#include "control/stop.h"

static const char *
samples(struct world *w)
{
	return world_ask(w,
	    "SELECT count(*) FILTER (WHERE session_id IS NULL),"
	    " count(session_id) FROM sample");
}

static void
a_pass_samples_each_sandbox_and_session(void **state)
{
	static const struct usage HAS = { .running = true,
		.cpu_us = 1234567,
		.cpu_user_us = 1000999,
		.cpu_sys_us = -1,
		.memory_bytes = 77,
		.memory_peak_bytes = -1,
		.processes = 5,
		.threads = 0 };
	struct world *w = *state;

	world_ready(w, ISOLATION_SHARED);
	world_ready(w, ISOLATION_SHARED);
	world_ready(w, ISOLATION_SESSION);
	fake_load(w->id, &HAS);
	assert_int_equal(world_reap(w).errors, 0);
	assert_string_equal(samples(w), "2|3");
	assert_string_equal(
	    world_ask(w,
		"SELECT cpu_ms, cpu_user_ms, cpu_system_ms IS NULL, memory_bytes,"
		" memory_peak_bytes IS NULL, processes, threads, life, tenant"
		" FROM sample WHERE session_id = '%s'",
		w->id),
	    "1234|1000|t|77|t|5|0|1|acme");
	assert_string_equal(
	    world_ask(w,
		"SELECT processes, memory_bytes, life = b.incarnation FROM sample s"
		" JOIN sandbox b ON b.id = s.sandbox_id"
		" WHERE session_id IS NULL AND sandbox_id = '%s'",
		w->box),
	    "6|77|t");
	/* the next pass comes too soon */
	assert_int_equal(world_reap(w).errors, 0);
	assert_string_equal(samples(w), "2|3");
}

static void
one_that_cannot_be_measured_is_no_failure(void **state)
{
	struct world *w = *state;

	world_ready(w, ISOLATION_SHARED);
	world_ready(w, ISOLATION_SHARED);
	world_ready(w, ISOLATION_SESSION);
	/* the first sandbox does not answer, and is not asked again */
	fake_script("usage", FAKE_FAIL, 1);
	assert_int_equal(world_reap(w).errors, 0);
	assert_true(fake_calls("usage") == 3 || fake_calls("usage") == 4);
	assert_string_equal(world_ask(w,
				"SELECT count(DISTINCT sandbox_id),"
				" count(DISTINCT session_id) IN (1, 2)"
				" FROM sample"),
	    "1|t");
	/* the next pass asks for the rest only */
	assert_int_equal(world_reap(w).errors, 0);
	assert_string_equal(samples(w), "2|3");
}

static void
a_pass_of_another_host_samples_nothing(void **state)
{
	struct world *w = *state;

	world_ready(w, ISOLATION_SESSION);
	world_move(w);
	assert_int_equal(world_reap(w).errors, 0);
	assert_string_equal(samples(w), "0|0");
	assert_int_equal(fake_calls("usage"), 0);
}

static void
pass_meanwhile(void *arg)
{
	struct world *w = arg;

	assert_int_equal(world_reap(w).errors, 0);
}

static void
two_passes_at_once_leave_one_sample(void **state)
{
	struct world *w = *state;

	world_ready(w, ISOLATION_SESSION);
	fake_meanwhile("usage", pass_meanwhile, w);
	assert_int_equal(world_reap(w).errors, 0);
	assert_string_equal(samples(w), "1|1");
}

static void
what_is_gone_has_no_sample(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SESSION);
	fake_crash(w->box);
	SUCCEEDS(statistics_sample(&w->ctl, INT64_MAX, &e));
	assert_string_equal(samples(w), "0|0");
}

static void
one_that_sleeps_is_not_measured(void **state)
{
	struct world *w = *state;
	auto_json json_t *found = NULL;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SESSION);
	world_ask(w, "UPDATE lease SET keep_warm_until = 'epoch'");
	assert_int_equal(world_reap(w).slept, 1);
	fake_script("usage", FAKE_FAIL, 1); /* the next call of it */
	SUCCEEDS(statistics_session(&w->ctl, w->id, "acme", &found, &e));
	assert_true(json_is_false(json_object_get(found, "running")));
	/* from anywhere: nothing needs its host */
	world_move(w);
	json_decref(found);
	SUCCEEDS(statistics_session(&w->ctl, w->id, "acme", &found, &e));
	json_decref(found);
	SUCCEEDS(statistics_sandbox(&w->ctl, w->box, "acme", &found, &e));
	assert_true(json_is_false(json_object_get(found, "running")));
}

static void
failures_are_told_and_other_tenants_find_nothing(void **state)
{
	struct world *w = *state;
	json_t *found = NULL;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SESSION);
	FAILS(statistics_session(&w->ctl, w->id, "other", &found, &e),
	    CODE_SESSION_NOT_FOUND);
	FAILS(statistics_sandbox(&w->ctl, w->box, "other", &found, &e),
	    CODE_SANDBOX_NOT_FOUND);
	fake_script("usage", FAKE_HANG, 1);
	FAILS(statistics_session(&w->ctl, w->id, "acme", &found, &e),
	    CODE_TIMED_OUT);
	world_move(w);
	FAILS(statistics_session(&w->ctl, w->id, "acme", &found, &e),
	    CODE_OTHER_HOST);
	FAILS(statistics_sandbox(&w->ctl, w->box, "acme", &found, &e),
	    CODE_OTHER_HOST);
	assert_null(found);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_pass_samples_each_sandbox_and_session),
		WORLD_TEST(one_that_cannot_be_measured_is_no_failure),
		WORLD_TEST(a_pass_of_another_host_samples_nothing),
		WORLD_TEST(two_passes_at_once_leave_one_sample),
		WORLD_TEST(what_is_gone_has_no_sample),
		WORLD_TEST(one_that_sleeps_is_not_measured),
		WORLD_TEST(failures_are_told_and_other_tenants_find_nothing),
	};

	return cmocka_run_group_tests_name("statistics", tests, NULL, NULL);
}
