/* clean_world.c: tests causes of a stop, waves, and things without a row. */
#include "world.h"

#include "common/clock.h"

/* ---- causes */

static void
what_initializes_for_too_long_is_an_orphan(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	fake_script("storage_make", FAKE_FAIL, 1);
	FAILS(world_create(w, ISOLATION_SESSION, &e), FAKE_CODE);
	assert_int_equal(world_reap(w).orphans, 0);
	world_ask(w, "UPDATE session SET initializing_since = 'epoch'");
	assert_int_equal(world_reap(w).orphans, 1);
	assert_string_equal(world_state(w), "failed none 1 stopped");
	assert_string_equal(world_ask(w,
				"SELECT detail->>'reason' FROM event"
				" WHERE what = 'request_stop'"),
	    "orphaned");
}

static void
what_has_run_for_a_day_is_put_to_sleep(void **state)
{
	struct world *w = *state;

	world_ready(w, ISOLATION_SESSION);
	world_ask(w,
	    "UPDATE session SET started_at = clock_timestamp()"
	    " - interval '23 hours'");
	assert_int_equal(world_reap(w).old, 0);
	world_ask(w,
	    "UPDATE session SET keep_alive = true, started_at = 'epoch'");
	assert_int_equal(world_reap(w).old, 0); /* never with keepAlive */
	assert_string_equal(world_state(w), "ready owns_wrapper 1 running");
	world_ask(w, "UPDATE session SET keep_alive = false");
	assert_int_equal(world_reap(w).old, 1);
	assert_string_equal(world_state(w), "asleep none 1 stopped");
	assert_string_equal(world_ask(w, "SELECT reason FROM session"),
	    "too-old");
}

/* Makes the work half an hour older, as the next pass sees it. */
static void
half_an_hour_later(struct world *w)
{
	world_ask(w,
	    "UPDATE session SET cpu_at = cpu_at - interval '31 minutes'");
	world_ask(w, "UPDATE lease SET ask_at = '-infinity'");
}

static void
what_is_busy_and_does_not_move_is_stuck(void **state)
{
	struct world *w = *state;
	struct agent_status st = { .busy = true,
		.running = 1,
		.quiet_ms = 31 * 60 * 1000,
		.cpu_ms = 100 };

	world_ready(w, ISOLATION_SESSION);
	fake_status(&st);
	half_an_hour_later(w);
	assert_int_equal(world_reap(w).stuck, 0); /* seen for the first time */
	st.cpu_ms = 110;
	fake_status(&st);
	half_an_hour_later(w);
	assert_int_equal(world_reap(w).stuck, 0); /* the work used the CPU */
	st.quiet_ms = 0;
	fake_status(&st);
	half_an_hour_later(w);
	assert_int_equal(world_reap(w).stuck, 0); /* the work wrote output */
	st.quiet_ms = 31 * 60 * 1000;
	st.limit_ms = 1000;
	fake_status(&st);
	half_an_hour_later(w);
	assert_int_equal(world_reap(w).stuck,
	    0); /* the work's own limit comes first */
	assert_string_equal(world_state(w), "ready owns_wrapper 1 running");
	st.limit_ms = 0;
	fake_status(&st);
	half_an_hour_later(w);
	assert_int_equal(world_reap(w).stuck, 1);
	assert_string_equal(world_state(w), "asleep none 1 stopped");
	assert_string_equal(world_ask(w, "SELECT reason FROM session"),
	    "stuck");
}

/* ---- wrappers that do not answer */

static struct pass
reap_idle(struct world *w, int hangs)
{
	fake_script("agent.status", FAKE_HANG, hangs);
	world_ask(w, "UPDATE lease SET keep_warm_until = 'epoch'");
	return world_reap(w);
}

static void
a_wrapper_that_was_silent_once_is_neither_idle_nor_stuck(void **state)
{
	struct world *w = *state;
	struct pass p;

	world_ready(w, ISOLATION_SESSION);
	world_ask(w, "UPDATE lease SET ask_at = 'epoch'");
	p = reap_idle(w, 2);
	assert_int_equal(p.errors, 0); /* a tenant can cause that */
	assert_int_equal(p.slept + p.stuck, 0);
	assert_string_equal(world_state(w), "ready owns_wrapper 1 running");
}

static void
a_wrapper_that_is_silent_in_two_passes_is_stopped(void **state)
{
	struct world *w = *state;

	world_ready(w, ISOLATION_SESSION);
	assert_int_equal(reap_idle(w, 1).slept, 0);
	assert_int_equal(reap_idle(w, 2).slept, 1);
	assert_string_equal(world_state(w), "asleep none 1 stopped");
	assert_string_equal(world_ask(w, "SELECT reason FROM session"),
	    "unhealthy-wrapper");
	world_reap(w);
	assert_string_equal(world_ask(w, "SELECT count(*) FROM sighting"), "0");
}

static void
a_wrapper_that_answers_when_it_is_asked_with_patience_is_healthy(void **state)
{
	struct world *w = *state;

	world_ready(w, ISOLATION_SESSION);
	fake_status(&(struct agent_status){ .busy = true, .running = 1 });
	assert_int_equal(reap_idle(w, 1).slept, 0);
	assert_int_equal(reap_idle(w, 1).slept, 0); /* then an answer */
	assert_string_equal(world_state(w), "ready owns_wrapper 1 running");
}

static struct pass
reap_asked(struct world *w, int hangs)
{
	fake_script("agent.status", FAKE_HANG, hangs);
	world_ask(w, "UPDATE lease SET ask_at = 'epoch'");
	return world_reap(w);
}

static void
silences_count_in_a_row_only(void **state)
{
	struct world *w = *state;

	world_ready(w, ISOLATION_SESSION);
	assert_int_equal(reap_asked(w, 1).slept, 0);
	assert_int_equal(reap_asked(w, 0).slept, 0); /* the wrapper answers */
	assert_int_equal(reap_asked(w, 2).slept, 0);
	assert_string_equal(world_state(w), "ready owns_wrapper 1 running");
}

static void
a_call_between_two_silences_proves_that_it_lives(void **state)
{
	struct world *w = *state;

	world_ready(w, ISOLATION_SESSION);
	assert_int_equal(reap_asked(w, 1).slept, 0);
	world_ask(w, "UPDATE session SET activity_seq = activity_seq + 1");
	assert_int_equal(reap_asked(w, 2).slept, 0);
	assert_string_equal(world_state(w), "ready owns_wrapper 1 running");
}

static void
a_silence_of_the_whole_sandbox_proves_nothing(void **state)
{
	struct world *w = *state;

	world_ready(w, ISOLATION_SESSION);
	for (int i = 0; i < 3; i++) {
		struct pass p;

		fake_script("agent.look", FAKE_HANG, 1);
		p = reap_idle(w, 1);
		assert_int_equal(p.slept, 0);
		assert_int_equal(p.errors, 1);
	}
	assert_string_equal(world_state(w), "ready owns_wrapper 1 running");
}

static void
files_of_what_failed_go_after_a_day(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	fake_script("agent.launch", FAKE_FAIL, 1);
	FAILS(world_create(w, ISOLATION_SHARED, &e), CODE_LAUNCH_FAILED);
	assert_int_equal(world_reap(w).removed, 0);
	assert_int_equal(fake_calls("storage_drop"), 0);
	world_ask(w,
	    "UPDATE session SET ended_at = clock_timestamp()"
	    " - interval '25 hours'");
	assert_int_equal(world_reap(w).removed, 1);
	assert_int_equal(fake_calls("storage_drop"), 1);
	world_reap(w);
	assert_int_equal(fake_calls("storage_drop"), 1);
	/* the row stays and says that the files are gone */
	assert_string_equal(world_ask(w, "SELECT state FROM session"),
	    "failed");
	FAILS(world_resume(w, &e), CODE_SESSION_LOST);
	/* retention deletes the session like any delete; then the row goes */
	world_ask(w, "UPDATE session SET ended_at = 'epoch'");
	assert_int_equal(world_reap(w).deleted, 1);
	assert_string_equal(world_ask(w, "SELECT count(*) FROM session"), "0");
	assert_string_equal(world_ask(w, "SELECT count(*) FROM lease"), "0");
}

static void
retention_waits_for_a_stop_that_is_open(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	fake_script("agent.launch", FAKE_FAIL, 1);
	fake_script("agent.seal", FAKE_FAIL, 1);
	FAILS(world_create(w, ISOLATION_SHARED, &e), CODE_LAUNCH_FAILED);
	assert_string_equal(world_state(w), "failed stop_needed 1 creating");
	world_ask(w, "UPDATE session SET ended_at = 'epoch'");
	world_reap(w); /* the backoff is kept */
	assert_string_equal(world_state(w), "deleting stop_needed 1 creating");
	world_ask(w, "UPDATE lease SET next_attempt_at = 'epoch'");
	assert_int_equal(world_reap(w).deleted, 1);
}

/* ---- waves */

static void
a_wave_stops_all_as_one(void **state)
{
	enum { MANY = 12 };
	struct world *w = *state;
	struct pass p;

	for (int i = 0; i < MANY; i++)
		world_ready(w, ISOLATION_SHARED);
	world_ask(w, "UPDATE lease SET keep_warm_until = 'epoch'");
	fake_stubborn(true, false);
	p = world_reap(w);
	assert_int_equal(p.slept, MANY);
	assert_int_equal(p.stopped, MANY);
	assert_int_equal(fake_calls("agent.term"), MANY);
	assert_int_equal(fake_calls("agent.look"), 3 * MANY);
	assert_int_equal(fake_calls("agent.kill"), MANY);
	assert_string_equal(world_ask(w, "SELECT DISTINCT state FROM lease"),
	    "none");
}

static void
a_wave_waits_once_for_those_that_are_silent(void **state)
{
	enum { MANY = 12 };
	struct world *w = *state;
	int64_t began;

	for (int i = 0; i < MANY; i++)
		world_ready(w, ISOLATION_SHARED);
	world_ask(w, "UPDATE lease SET keep_warm_until = 'epoch'");
	fake_script("agent.seal", FAKE_HANG, MANY);
	began = clock_ms();
	assert_int_equal(world_reap(w).errors, MANY);
	/* wait: one by one the stops take 24 s, as one wave 2 s */
	assert_true(clock_ms() - began < MANY * 2000);
	assert_string_equal(world_ask(w,
				"SELECT DISTINCT state, attempts FROM lease"),
	    "stop_needed|1");
}

static void
one_that_fails_does_not_hold_up_the_others(void **state)
{
	struct world *w = *state;
	struct pass p;

	for (int i = 0; i < 5; i++)
		world_ready(w, ISOLATION_SHARED);
	world_ask(w, "UPDATE lease SET keep_warm_until = 'epoch'");
	fake_script("agent.seal", FAKE_FAIL, 2);
	p = world_reap(w);
	assert_int_equal(p.stopped, 3);
	assert_int_equal(p.errors, 2);
	assert_string_equal(world_ask(w,
				"SELECT state, count(*) FROM lease"
				" GROUP BY 1 ORDER BY 1"),
	    "none|3 stop_needed|2");
}

static void
a_sandbox_that_was_silent_twice_is_left_for_the_next_pass(void **state)
{
	struct world *w = *state;
	struct pass p;

	w->conf.reaper_batch = 1;
	for (int i = 0; i < 4; i++)
		world_ready(w, ISOLATION_SHARED);
	world_ask(w, "UPDATE lease SET keep_warm_until = 'epoch'");
	fake_script("agent.seal", FAKE_HANG, 4);
	p = world_reap(w);
	assert_int_equal(p.slept, 4);
	assert_int_equal(fake_calls("agent.seal"), 2);
	assert_int_equal(p.errors, 2);
	assert_string_equal(world_ask(w,
				"SELECT attempts, count(*) FROM lease"
				" GROUP BY 1 ORDER BY 1"),
	    "0|2 1|2");
}

static void
first_attempts_come_before_retries(void **state)
{
	struct world *w = *state;
	char tried[ID_MAX];

	world_ready(w, ISOLATION_SHARED);
	str_copy(tried, sizeof(tried), w->id);
	world_ready(w, ISOLATION_SHARED);
	world_ask(w,
	    "UPDATE lease SET state = 'stop_needed', reason = 'stuck',"
	    " next_attempt_at = clock_timestamp() - interval '1 hour'");
	world_ask(w,
	    "UPDATE lease SET attempts = 3, next_attempt_at = 'epoch'"
	    " WHERE session_id = '%s'",
	    tried);
	world_reap(w);
	assert_string_equal(world_ask(w,
				"SELECT session_id = '%s' FROM event"
				" WHERE what = 'begin_stop_attempt'"
				" ORDER BY id",
				tried),
	    "f t");
}

/* ---- rows and what exists on the host */

static void
a_wrapper_that_died_leaves_its_session_asleep(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SHARED);
	fake_cell_die(w->box, w->id);
	world_reap(w); /* a start may be under way */
	assert_string_equal(world_state(w), "ready owns_wrapper 1 running");
	world_ask(w, "UPDATE lease SET changed_at = 'epoch'");
	fake_script("agent.seal", FAKE_FAIL, 1);
	assert_int_equal(world_reap(w).gone, 0); /* the look failed */
	assert_string_equal(world_state(w), "ready owns_wrapper 1 running");
	assert_int_equal(world_reap(w).gone, 1);
	assert_string_equal(world_state(w), "asleep none 1 running");
	assert_string_equal(world_ask(w, "SELECT reason FROM session"),
	    "wrapper_gone");
	SUCCEEDS(world_resume(w, &e));
	assert_string_equal(world_state(w), "ready owns_wrapper 2 running");
}

static void
a_wrapper_that_nobody_owns_is_stopped(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SHARED);
	world_ready(w, ISOLATION_SHARED);
	SUCCEEDS(session_control_sleep(&w->ctl, w->id, "acme", "user-interrupt",
	    -1, &e));
	fake_cell_add(w->box, w->id, "stranger", 1);
	assert_int_equal(world_reap(w).leaked, 1);
	assert_string_equal(world_state(w), "asleep stop_needed 1 running");
	assert_int_equal(world_reap(w).stopped, 1);
	assert_string_equal(world_state(w), "asleep none 1 running");
}

static void
a_wrapper_without_a_lease_ends_after_two_sightings(void **state)
{
	struct world *w = *state;

	world_ready(w, ISOLATION_SHARED);
	fake_cell_add(w->box, "strangerstrangerstra", "i", 1);
	assert_int_equal(world_reap(w).leaked, 1);
	assert_int_equal(world_reap(w).leaked, 1);
	assert_int_equal(fake_calls("agent.kill"), 0);
	world_ask(w, "UPDATE sighting SET first_at = 'epoch'");
	assert_int_equal(world_reap(w).removed, 1);
	assert_int_equal(fake_calls("agent.kill"), 1);
	assert_int_equal(world_reap(w).leaked, 0);
	assert_string_equal(world_state(w), "ready owns_wrapper 1 running");
}

static void
directories_without_a_row_go(void **state)
{
	struct world *w = *state;
	const struct provider *p = &w->ctl.provider;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SHARED);
	SUCCEEDS(p->ops->storage_make(p, w->box, "nobodynobodynobodyno", &e));
	assert_int_equal(world_reap(w).removed, 0); /* once is not enough */
	fake_script("storage_list", FAKE_FAIL, 1);
	assert_int_equal(world_reap(w).errors, 1);
	world_ask(w, "UPDATE sighting SET first_at = 'epoch'");
	assert_int_equal(world_reap(w).removed, 1);
	assert_int_equal(fake_calls("storage_drop"), 1);
	assert_string_equal(world_ask(w, "SELECT count(*) FROM sighting"), "0");
}

static void
a_sighting_counts_no_more_when_it_was_not_seen_again(void **state)
{
	struct world *w = *state;
	const struct provider *p = &w->ctl.provider;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SHARED);
	SUCCEEDS(p->ops->storage_make(p, w->box, "nobodynobodynobodyno", &e));
	world_reap(w);
	world_ask(w, "UPDATE sighting SET first_at = 'epoch'");
	SUCCEEDS(p->ops->storage_drop(p, w->box, "nobodynobodynobodyno", &e));
	world_reap(w);
	SUCCEEDS(p->ops->storage_make(p, w->box, "nobodynobodynobodyno", &e));
	assert_int_equal(world_reap(w).removed, 0);
}

/* ---- leases without their session's row */

static void
a_lease_without_its_session_is_kept_until_proof(void **state)
{
	struct world *w = *state;

	world_ready(w, ISOLATION_SHARED);
	world_ask(w, "DELETE FROM session");
	assert_int_equal(world_reap(w).orphans, 0); /* too early */
	assert_string_equal(world_ask(w, "SELECT state FROM lease"),
	    "owns_wrapper");
	world_ask(w, "UPDATE lease SET changed_at = 'epoch'");
	fake_script("agent.seal", FAKE_FAIL, 1);
	assert_int_equal(world_reap(w).orphans, 1);
	assert_string_equal(world_ask(w, "SELECT state, reason FROM lease"),
	    "stop_needed|orphaned");
	assert_int_equal(fake_calls("agent.kill") + fake_calls("stop"), 0);
	world_ask(w, "UPDATE lease SET next_attempt_at = 'epoch'");
	world_reap(w);
	assert_string_equal(world_ask(w, "SELECT state FROM lease"), "none");
}

static void
a_sandbox_with_such_a_lease_is_not_retired(void **state)
{
	struct world *w = *state;

	world_ready(w, ISOLATION_SHARED);
	world_ask(w, "DELETE FROM session");
	world_ask(w,
	    "UPDATE sandbox SET idle_since = 'epoch', changed_at = 'epoch'");
	assert_int_equal(world_reap(w).retired, 0);
	assert_int_equal(fake_calls("stop"), 0);
	/* the end of the sandbox is the proof */
	fake_crash(w->box);
	world_reap(w);
	assert_string_equal(world_ask(w,
				"SELECT l.state, b.state"
				" FROM lease l, sandbox b"),
	    "none|stopped");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(what_initializes_for_too_long_is_an_orphan),
		WORLD_TEST(what_has_run_for_a_day_is_put_to_sleep),
		WORLD_TEST(what_is_busy_and_does_not_move_is_stuck),
		WORLD_TEST(
		    a_wrapper_that_was_silent_once_is_neither_idle_nor_stuck),
		WORLD_TEST(a_wrapper_that_is_silent_in_two_passes_is_stopped),
		WORLD_TEST(
		    a_wrapper_that_answers_when_it_is_asked_with_patience_is_healthy),
		WORLD_TEST(silences_count_in_a_row_only),
		WORLD_TEST(a_call_between_two_silences_proves_that_it_lives),
		WORLD_TEST(a_silence_of_the_whole_sandbox_proves_nothing),
		WORLD_TEST(files_of_what_failed_go_after_a_day),
		WORLD_TEST(retention_waits_for_a_stop_that_is_open),
		WORLD_TEST(a_wave_stops_all_as_one),
		WORLD_TEST(a_wave_waits_once_for_those_that_are_silent),
		WORLD_TEST(one_that_fails_does_not_hold_up_the_others),
		WORLD_TEST(
		    a_sandbox_that_was_silent_twice_is_left_for_the_next_pass),
		WORLD_TEST(first_attempts_come_before_retries),
		WORLD_TEST(a_wrapper_that_died_leaves_its_session_asleep),
		WORLD_TEST(a_wrapper_that_nobody_owns_is_stopped),
		WORLD_TEST(a_wrapper_without_a_lease_ends_after_two_sightings),
		WORLD_TEST(directories_without_a_row_go),
		WORLD_TEST(
		    a_sighting_counts_no_more_when_it_was_not_seen_again),
		WORLD_TEST(a_lease_without_its_session_is_kept_until_proof),
		WORLD_TEST(a_sandbox_with_such_a_lease_is_not_retired),
	};

	return cmocka_run_group_tests_name("clean", tests, NULL, NULL);
}
