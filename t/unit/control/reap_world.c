/* reap_world.c: tests a pass of the reaper, and what the pass leaves alone. */
#include "world.h"

#include <string.h>

#include "common/clock.h"
#include "control/stop.h"

#define ORPHAN "ses-000000000000000000000000000000000000000000000000"

static void
a_quiet_world_stays_as_it_is(void **state)
{
	struct world *w = *state;
	struct pass p;

	world_ready(w, ISOLATION_SESSION);
	p = world_reap(w);
	assert_string_equal(world_state(w), "ready owns_wrapper 1 running");
	assert_int_equal(p.errors, 0);
	assert_int_equal(p.stopped + p.slept + p.deleted + p.failed_starts +
		p.orphans + p.gone + p.retired,
	    0);
}

static void
what_is_idle_is_put_to_sleep(void **state)
{
	struct world *w = *state;

	world_ready(w, ISOLATION_SESSION);
	world_ask(w, "UPDATE lease SET keep_warm_until = 'epoch'");
	assert_int_equal(world_reap(w).slept, 1);
	assert_string_equal(world_state(w), "asleep none 1 stopped");
	assert_string_equal(world_ask(w,
				"SELECT detail->>'reason' FROM event"
				" WHERE what = 'request_stop'"),
	    "idle-timeout");
}

static void
five_minutes_without_a_call_change_nothing(void **state)
{
	struct world *w = *state;

	world_ready(w, ISOLATION_SESSION);
	world_ask(w,
	    "UPDATE lease SET keep_warm_until ="
	    " keep_warm_until - interval '5 minutes'");
	world_ask(w,
	    "UPDATE session SET last_activity_at ="
	    " last_activity_at - interval '5 minutes'");
	world_reap(w);
	assert_string_equal(world_state(w), "ready owns_wrapper 1 running");
}

static void
what_works_is_kept_awake(void **state)
{
	struct world *w = *state;

	world_ready(w, ISOLATION_SESSION);
	fake_status(&(struct agent_status){ .busy = true, .running = 1 });
	world_ask(w, "UPDATE lease SET keep_warm_until = 'epoch'");
	assert_int_equal(world_reap(w).slept, 0);
	assert_string_equal(world_state(w), "ready owns_wrapper 1 running");
	assert_string_equal(world_ask(w,
				"SELECT keep_warm_until >"
				" clock_timestamp() + interval '9 minutes',"
				" (SELECT activity_seq FROM session)"
				" FROM lease"),
	    "t|1");
}

static void
a_late_start_is_repaired_by_work_that_was_accepted(void **state)
{
	struct world *w = *state;

	world_ready(w, ISOLATION_SESSION);
	fake_status(&(struct agent_status){ .busy = true, .streams = 1 });
	world_ask(w, "UPDATE lease SET startup_deadline = 'epoch'");
	assert_int_equal(world_reap(w).failed_starts, 0);
	assert_string_equal(world_state(w), "ready owns_wrapper 1 running");
	assert_string_equal(
	    world_ask(w, "SELECT startup_deadline IS NULL FROM lease"), "t");
}

static void
a_start_that_never_ended_has_failed(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	fake_script("storage_make", FAKE_FAIL, 1);
	FAILS(world_create(w, ISOLATION_SESSION, &e), FAKE_CODE);
	assert_int_equal(world_reap(w).failed_starts, 0); /* too early */
	assert_string_equal(world_state(w),
	    "initializing owns_wrapper 1 creating");
	world_ask(w, "UPDATE lease SET startup_deadline = 'epoch'");
	assert_int_equal(world_reap(w).failed_starts, 1);
	assert_string_equal(world_state(w), "failed none 1 stopped");
	assert_string_equal(world_ask(w, "SELECT reason FROM session"),
	    "it was not ready within its time");
}

static void
what_has_expired_is_deleted(void **state)
{
	struct world *w = *state;

	world_ready(w, ISOLATION_SESSION);
	world_ask(w, "UPDATE session SET expires_at = 'epoch'");
	assert_int_equal(world_reap(w).deleted, 1);
	assert_string_equal(world_state(w), "deleted none 1 absent");
}

static void
a_stop_whose_worker_died_is_taken_up_again(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SHARED);
	SUCCEEDS(stop_request(&w->ctl, w->id, STOP_SLEEP, "idle-timeout", NULL,
	    -1, &e));
	world_ask(w,
	    "SELECT * FROM session_stop_begin('%s',"
	    " '{\"attempt\": \"lost\", \"seconds\": 45}')",
	    w->id);
	world_reap(w); /* before the attempt's deadline: left alone */
	assert_string_equal(world_state(w), "sleeping stopping 1 running");
	world_ask(w, "UPDATE lease SET attempt_deadline = 'epoch'");
	world_reap(w); /* after it: expired, with backoff */
	assert_string_equal(world_state(w), "sleeping stop_needed 1 running");
	assert_string_equal(
	    world_ask(w,
		"SELECT session_stop_end('%s',"
		" '{\"attempt\": \"lost\", \"absent\": true}') IS NULL",
		w->id),
	    "t"); /* the result comes too late */
	world_ask(w, "UPDATE lease SET next_attempt_at = 'epoch'");
	assert_int_equal(world_reap(w).stopped, 1);
	assert_string_equal(world_state(w), "asleep none 1 running");
}

static void
a_deletion_that_was_interrupted_is_finished(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };
	bool gone;

	world_ready(w, ISOLATION_SESSION);
	fake_script("destroy", FAKE_FAIL, 1);
	SUCCEEDS(session_control_delete(&w->ctl, w->id, "acme", &gone, &e));
	assert_string_equal(world_state(w), "deleting none 1 destroying");
	assert_string_equal(
	    world_ask(w,
		"SELECT attempts, last_error IS NOT NULL FROM sandbox"),
	    "1|t");
	/* not before its time, which each failure puts off further */
	assert_int_equal(world_reap(w).deleted, 0);
	for (int i = 0; i < 3; i++) {
		fake_script("destroy", FAKE_FAIL, 1);
		(void)world_ask(w,
		    "UPDATE sandbox SET deadline = clock_timestamp()");
		assert_int_equal(world_reap(w).deleted, 0);
	}
	assert_string_equal(
	    world_ask(w,
		"SELECT attempts, deadline > clock_timestamp() + interval '290 s' FROM sandbox"),
	    "4|t");
	(void)world_ask(w, "UPDATE sandbox SET deadline = clock_timestamp()");
	assert_int_equal(world_reap(w).deleted, 1);
	assert_string_equal(world_state(w), "deleted none 1 absent");
}

static void
a_sandbox_that_died_leaves_its_sessions_asleep(void **state)
{
	struct world *w = *state;

	world_ready(w, ISOLATION_SHARED);
	world_ready(w, ISOLATION_SHARED);
	fake_crash(w->box);
	assert_int_equal(world_reap(w).gone, 2);
	assert_string_equal(world_state(w), "asleep none 1 stopped");
	assert_string_equal(world_ask(w,
				"SELECT DISTINCT state, reason FROM session"),
	    "asleep|sandbox_gone");
}

static void
a_reboot_leaves_sessions_asleep_with_their_files(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SESSION);
	fake_crash(w->box);
	str_copy(w->ctl.provider.boot_id, sizeof(w->ctl.provider.boot_id),
	    "another");
	world_reap(w);
	assert_string_equal(world_state(w), "asleep none 1 stopped");
	SUCCEEDS(world_resume(w, &e));
	assert_string_equal(world_state(w), "ready owns_wrapper 2 running");
}

static void
a_list_that_fails_is_not_an_empty_one(void **state)
{
	struct world *w = *state;

	world_ready(w, ISOLATION_SHARED);
	fake_script("list", FAKE_FAIL, 1);
	assert_int_equal(world_reap(w).errors, 1);
	assert_string_equal(world_state(w), "ready owns_wrapper 1 running");
}

static void
another_host_s_reaper_touches_nothing(void **state)
{
	struct world *w = *state;
	struct pass p;

	world_ready(w, ISOLATION_SESSION);
	fake_crash(w->box);
	str_copy(w->conf.host_name, sizeof(w->conf.host_name), "elsewhere");
	p = world_reap(w);
	assert_string_equal(world_state(w), "ready owns_wrapper 1 running");
	assert_int_equal(p.gone + p.orphans + p.retired, 0);
	assert_int_equal(fake_calls("stop") + fake_calls("destroy"), 0);
}

static void
a_sandbox_no_row_knows_ends_after_two_sightings(void **state)
{
	struct world *w = *state;

	fake_box_add(ORPHAN, "inc");
	assert_int_equal(world_reap(w).orphans, 1);
	assert_int_equal(world_reap(w).orphans, 1);
	assert_int_equal(fake_calls("destroy"), 0); /* five minutes, too */
	world_ask(w, "UPDATE sighting SET first_at = 'epoch'");
	world_reap(w);
	assert_int_equal(fake_calls("destroy"), 1);
	assert_int_equal(world_reap(w).orphans, 0);
}

static void
an_empty_shared_sandbox_is_stopped_after_its_grace(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };
	bool gone;

	world_ready(w, ISOLATION_SHARED);
	SUCCEEDS(session_control_delete(&w->ctl, w->id, "acme", &gone, &e));
	assert_int_equal(world_reap(w).retired, 0);
	world_ask(w, "UPDATE sandbox SET idle_since = 'epoch'");
	assert_int_equal(world_reap(w).retired, 1);
	assert_string_equal(world_state(w), "deleted none 1 stopped");
}

static void
a_sandbox_of_one_session_does_not_outlive_its_wrapper(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SESSION);
	fake_script("stop", FAKE_FAIL, 1);
	(void)!session_control_sleep(&w->ctl, w->id, "acme", "user-interrupt",
	    -1, &e);
	assert_string_equal(world_state(w), "asleep none 1 running");
	assert_int_equal(world_reap(w).retired, 0); /* tried just now */
	world_ask(w, "UPDATE sandbox SET deadline = 'epoch'");
	assert_int_equal(world_reap(w).retired, 1);
	assert_string_equal(world_state(w), "asleep none 1 stopped");
}

/* A create comes between the intent of a retirement and its effect. */
static struct world *LATE;

static int
stop_after_a_create(const struct provider *p, const char *id,
    const char *incarnation, int64_t deadline_ms, struct err *e)
{
	static const struct store_options OPTIONS = { "late", 5000 };
	struct world *w = LATE;

	if (w != NULL) {
		struct control ours = w->ctl;

		LATE = NULL;
		/* as if the courtesy lock had gone with its connection */
		assert_int_equal(
		    STORE_RUN(ours.store, STMT_SANDBOX_UNLOCK, NULL, e, id), 0);
		w->ctl.provider.ops = &PROVIDER_FAKE;
		w->ctl.store = store_new(w->conf.database, &OPTIONS);
		world_ready(w, ISOLATION_SHARED);
		store_free(w->ctl.store);
		w->ctl = ours;
	}
	return PROVIDER_FAKE.stop(p, id, incarnation, deadline_ms, e);
}

static void
a_stop_that_comes_late_spares_the_session_that_came_meanwhile(void **state)
{
	struct world *w = *state;
	struct provider_ops ops = PROVIDER_FAKE;
	struct err e = { 0 };
	struct pass p;
	bool gone;

	world_ready(w, ISOLATION_SHARED);
	SUCCEEDS(session_control_delete(&w->ctl, w->id, "acme", &gone, &e));
	world_ask(w, "UPDATE sandbox SET idle_since = 'epoch'");
	ops.stop = stop_after_a_create;
	w->ctl.provider.ops = &ops;
	LATE = w;
	p = world_reap(w);
	w->ctl.provider.ops = &PROVIDER_FAKE;
	assert_int_equal(p.errors, 0);
	assert_int_equal(fake_calls("stop"), 1);
	assert_string_equal(world_ask(w, "SELECT epoch FROM sandbox"), "2");
	SUCCEEDS(world_resume(w, &e)); /* the wrapper is there and answers */
	assert_string_equal(world_state(w), "ready owns_wrapper 1 running");
	assert_int_equal(fake_calls("agent.launch"), 2);
}

static void
a_dry_run_only_tells(void **state)
{
	struct world *w = *state;
	struct pass p = { .ctl = &w->ctl,
		.dry_run = true,
		.end_ms = clock_ms() + WORLD_WAIT_MS };

	world_ready(w, ISOLATION_SESSION);
	fake_crash(w->box);
	fake_box_add(ORPHAN, "inc");
	world_ask(w, "UPDATE lease SET keep_warm_until = 'epoch'");
	parts_run(&p);
	assert_string_equal(world_state(w), "ready owns_wrapper 1 running");
	assert_string_equal(world_ask(w, "SELECT count(*) FROM sighting"), "0");
	assert_int_equal(fake_calls("stop") + fake_calls("destroy"), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_quiet_world_stays_as_it_is),
		WORLD_TEST(what_is_idle_is_put_to_sleep),
		WORLD_TEST(five_minutes_without_a_call_change_nothing),
		WORLD_TEST(what_works_is_kept_awake),
		WORLD_TEST(a_late_start_is_repaired_by_work_that_was_accepted),
		WORLD_TEST(a_start_that_never_ended_has_failed),
		WORLD_TEST(what_has_expired_is_deleted),
		WORLD_TEST(a_stop_whose_worker_died_is_taken_up_again),
		WORLD_TEST(a_deletion_that_was_interrupted_is_finished),
		WORLD_TEST(a_sandbox_that_died_leaves_its_sessions_asleep),
		WORLD_TEST(a_reboot_leaves_sessions_asleep_with_their_files),
		WORLD_TEST(a_list_that_fails_is_not_an_empty_one),
		WORLD_TEST(another_host_s_reaper_touches_nothing),
		WORLD_TEST(a_sandbox_no_row_knows_ends_after_two_sightings),
		WORLD_TEST(an_empty_shared_sandbox_is_stopped_after_its_grace),
		WORLD_TEST(
		    a_sandbox_of_one_session_does_not_outlive_its_wrapper),
		WORLD_TEST(
		    a_stop_that_comes_late_spares_the_session_that_came_meanwhile),
		WORLD_TEST(a_dry_run_only_tells),
	};

	return cmocka_run_group_tests_name("reap", tests, NULL, NULL);
}
