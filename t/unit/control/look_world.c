/* look_world.c: tests whether a wrapper may be launched or reused. */
#include "world.h"

#include <string.h>

#include "common/clock.h"
#include "control/start.h"

static void
a_stranger_is_refused_until_it_is_gone(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SHARED);
	fake_cell_add(w->box, w->id, "stranger", 1);
	FAILS(world_resume(w, &e), CODE_LEASE_BUSY);
	assert_string_equal(world_state(w), "sleeping stop_needed 1 running");
	assert_string_equal(world_ask(w, "SELECT reason FROM lease"),
	    "unexpected-wrapper");
	SUCCEEDS(world_resume(w, &e));
	assert_string_equal(world_state(w), "ready owns_wrapper 2 running");
}

static void
one_of_another_generation_or_two_of_them_are_strangers(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };
	char instance[ID_MAX];

	for (int i = 0; i < 2; i++) {
		world_ready(w, ISOLATION_SHARED);
		str_copy(instance, sizeof(instance),
		    world_ask(w,
			"SELECT instance FROM lease WHERE session_id = '%s'",
			w->id));
		if (i == 0)
			fake_cell_add(w->box, w->id, instance, 2);
		else
			fake_cell_twin(w->box, w->id);
		FAILS(world_resume(w, &e), CODE_LEASE_BUSY);
		assert_string_equal(world_state(w),
		    "sleeping stop_needed 1 running");
		assert_string_equal(world_stop_reason(w), "unexpected-wrapper");
		assert_int_equal(fake_calls("agent.prove"), i + 1);
	}
}

/*
 * Also a wrapper without an instance is a stranger, although the row of a
 * sleeping session has none either.
 */
static void
a_stranger_in_a_sleeping_session_is_refused_until_it_is_gone(void **state)
{
	static const char *const INSTANCES[] = { "stranger", "" };
	struct world *w = *state;
	struct err e = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(INSTANCES); i++) {
		world_ready(w, ISOLATION_SHARED);
		SUCCEEDS(session_control_sleep(&w->ctl, w->id, "acme",
		    "user-interrupt", -1, &e));
		fake_cell_add(w->box, w->id, INSTANCES[i], 1);
		FAILS(world_resume(w, &e), CODE_LEASE_BUSY);
		assert_string_equal(world_state(w),
		    "asleep stop_needed 1 running");
		SUCCEEDS(world_resume(w, &e));
		assert_string_equal(world_state(w),
		    "ready owns_wrapper 2 running");
	}
}

static int
looks(void)
{
	return fake_calls("agent.look") + fake_calls("agent.seal") +
	    fake_calls("inspect");
}

static void
while_a_stop_is_open_a_resume_that_cannot_wait_is_refused_without_a_look(
    void **state)
{
	static const char *const MEANWHILE[] = { "SELECT",
		"UPDATE lease SET state = 'stopping', attempt_id = 'a',"
		" attempt_deadline = 'infinity'" };
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SHARED);
	fake_script("agent.seal", FAKE_FAIL, 1);
	SUCCEEDS(session_control_sleep(&w->ctl, w->id, "acme", "user-interrupt",
	    -1, &e));
	for (size_t i = 0; i < ARRAY_LEN(MEANWHILE); i++) {
		int before = looks();

		world_ask(w, "%s", MEANWHILE[i]);
		FAILS(start_session(&w->ctl, w->id, "acme", clock_ms(), &e),
		    CODE_LEASE_BUSY);
		assert_int_equal(err_status(&e), 409);
		assert_true(err_retryable(&e));
		assert_non_null(strstr(e.msg, "being stopped"));
		assert_int_equal(looks(), before);
	}
}

static void
a_look_that_cannot_tell_refuses_and_kills_nothing(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SESSION);
	fake_script("agent.look", FAKE_HANG, 1);
	fake_script("inspect", FAKE_UNKNOWN, 1);
	FAILS(world_resume(w, &e), CODE_LEASE_BUSY);
	assert_string_equal(world_ask(w, "SELECT state, reason FROM lease"),
	    "stop_needed|observation-failed");
	assert_int_equal(fake_calls("agent.term"), 0);
	assert_int_equal(fake_calls("agent.kill"), 0);
	assert_int_equal(fake_calls("stop"), 0);
	assert_int_equal(fake_calls("thaw_orphans"), 0);
}

static void
a_sandbox_that_runs_and_is_silent_is_thawed(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SESSION);
	assert_int_equal(fake_calls("thaw_orphans"), 0);
	fake_script("agent.look", FAKE_HANG, 1);
	fake_script("thaw_orphans", FAKE_FAIL, 1);
	FAILS(world_resume(w, &e), CODE_LEASE_BUSY);
	assert_int_equal(fake_calls("thaw_orphans"), 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_stranger_is_refused_until_it_is_gone),
		WORLD_TEST(
		    one_of_another_generation_or_two_of_them_are_strangers),
		WORLD_TEST(
		    a_stranger_in_a_sleeping_session_is_refused_until_it_is_gone),
		WORLD_TEST(
		    while_a_stop_is_open_a_resume_that_cannot_wait_is_refused_without_a_look),
		WORLD_TEST(a_look_that_cannot_tell_refuses_and_kills_nothing),
		WORLD_TEST(a_sandbox_that_runs_and_is_silent_is_thawed),
	};

	return cmocka_run_group_tests_name("look", tests, NULL, NULL);
}
