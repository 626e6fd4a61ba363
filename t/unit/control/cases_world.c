/* cases_world.c: tests stops whose success must not be believed too early. */
#include "world.h"

#include <stdio.h>

#include "control/stop.h"

static void
stopping_one_instance_still_requires_the_whole_session_to_be_gone(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SHARED);
	assert_string_equal(
	    world_ask(w,
		"SELECT applied FROM lease l, lease_apply(l.session_id,"
		" 'request_stop', jsonb_build_object('target', l.instance,"
		" 'reason', 'unhealthy-wrapper'))"),
	    "t");
	assert_string_equal(world_ask(w, "SELECT target = instance FROM lease"),
	    "t");
	/* that instance is gone, but another process of the session is not */
	fake_cell_die(w->box, w->id);
	fake_cell_add(w->box, w->id, "another", 1);
	fake_stubborn(true, true);
	SUCCEEDS(stop_attempt(&w->ctl, w->id, &e));
	assert_string_equal(world_ask(w, "SELECT state, attempts FROM lease"),
	    "stop_needed|1");
	fake_stubborn(false, false);
	world_make_due(w);
	SUCCEEDS(stop_attempt(&w->ctl, w->id, &e));
	assert_string_equal(world_ask(w, "SELECT state FROM lease"), "none");
}

static void
a_failed_look_never_kills_and_never_releases_a_second_look_that_succeeds_does(
    void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SHARED);
	fake_script("agent.seal", FAKE_FAIL, 1);
	SUCCEEDS(session_control_sleep(&w->ctl, w->id, "acme", "user-interrupt",
	    -1, &e));
	assert_string_equal(world_state(w), "sleeping stop_needed 1 running");
	assert_int_equal(fake_calls("agent.term"), 0);
	assert_int_equal(fake_calls("agent.kill"), 0);
	assert_int_equal(fake_calls("stop"), 0);
	world_make_due(w);
	SUCCEEDS(stop_attempt(&w->ctl, w->id, &e));
	assert_string_equal(world_state(w), "asleep none 1 running");
	assert_int_equal(fake_calls("agent.term"), 1);
}

static void
backoff_is_kept_while_retention_or_deletion_is_pending(void **state)
{
	static const char ROW[] =
	    "SELECT state, attempts, requested_at, next_attempt_at, reason"
	    " FROM lease";
	struct world *w = *state;
	struct err e = { 0 };
	char before[WORLD_TEXT_MAX];
	bool gone;

	world_ready(w, ISOLATION_SESSION);
	fake_script("agent.seal", FAKE_FAIL, 1);
	SUCCEEDS(session_control_sleep(&w->ctl, w->id, "acme", "user-interrupt",
	    -1, &e));
	snprintf(before, sizeof(before), "%s", world_ask(w, "%s", ROW));
	/* twice by a caller, once because the session has expired */
	for (int i = 0; i < 3; i++) {
		if (i < 2)
			SUCCEEDS(session_control_delete(&w->ctl, w->id, "acme",
			    &gone, &e));
		else
			SUCCEEDS(stop_request(&w->ctl, w->id, STOP_DELETE,
			    "session-delete", "expired", -1, &e));
		SUCCEEDS(stop_attempt(&w->ctl, w->id, &e));
		assert_string_equal(world_ask(w, "%s", ROW), before);
	}
	assert_string_equal(world_ask(w, "SELECT state FROM session"),
	    "deleting");
	assert_int_equal(fake_calls("agent.seal"), 1);
	world_make_due(w);
	SUCCEEDS(session_control_delete(&w->ctl, w->id, "acme", &gone, &e));
	assert_true(gone);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(
		    stopping_one_instance_still_requires_the_whole_session_to_be_gone),
		WORLD_TEST(
		    a_failed_look_never_kills_and_never_releases_a_second_look_that_succeeds_does),
		WORLD_TEST(
		    backoff_is_kept_while_retention_or_deletion_is_pending),
	};

	return cmocka_run_group_tests_name("cases", tests, NULL, NULL);
}
