/* stop_world.c: tests that only an observed absence releases a lease. */
#include "world.h"

#include <string.h>

#include "common/clock.h"
#include "control/finish.h"
#include "control/start.h"
#include "control/stop.h"
#include "control/wave.h"

static int
put_to_sleep(struct world *w, struct err *e)
{
	*e = (struct err){ 0 };
	return session_control_sleep(&w->ctl, w->id, "acme", "user-interrupt",
	    -1, e);
}

static void
sleep_ends_the_wrapper_and_its_own_sandbox(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SESSION);
	SUCCEEDS(put_to_sleep(w, &e));
	assert_string_equal(world_state(w), "asleep none 1 stopped");
	assert_int_equal(fake_calls("agent.seal"), 1);
	assert_int_equal(fake_calls("agent.term"), 1);
	assert_int_equal(fake_calls("agent.kill"), 0);
	assert_int_equal(fake_calls("cell_gone"), 1);
	assert_string_equal(world_story(w),
	    "initializing allocate startup_verified retain_warm ready"
	    " request_stop sleeping begin_stop_attempt stop_absent asleep");
}

static void
a_sibling_of_a_shared_sandbox_does_not_notice(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };
	char first[ID_MAX];

	world_ready(w, ISOLATION_SHARED);
	str_copy(first, sizeof(first), w->id);
	world_ready(w, ISOLATION_SHARED);
	SUCCEEDS(put_to_sleep(w, &e));
	assert_string_equal(world_state(w), "asleep none 1 running");
	str_copy(w->id, sizeof(w->id), first);
	SUCCEEDS(world_resume(w, &e));
	assert_string_equal(world_state(w), "ready owns_wrapper 1 running");
	assert_int_equal(fake_calls("agent.launch"), 2);
	assert_int_equal(fake_calls("stop"), 0);
}

/* As after the database was restored from an older backup. */
static void
a_wrapper_later_than_its_row_is_ended_and_the_next_is_later(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SHARED);
	fake_cell_die(w->box, w->id);
	fake_cell_add(w->box, w->id, "later", 6);
	SUCCEEDS(put_to_sleep(w, &e));
	assert_string_equal(world_state(w), "asleep none 6 running");
	SUCCEEDS(world_resume(w, &e));
	assert_string_equal(world_state(w), "ready owns_wrapper 7 running");
}

/* Another attempt has confirmed the absence, and the next generation runs. */
static void
a_late_attempt_ends_nobody(void **state)
{
	struct world *w = *state;
	auto_wave struct wave *late = NULL;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SHARED);
	SUCCEEDS(stop_request(&w->ctl, w->id, STOP_SLEEP, "user-interrupt",
	    NULL, -1, &e));
	SUCCEEDS(wave_claim_one(&w->ctl, w->id, &late, &e));
	world_ask(w, "UPDATE lease SET attempt_deadline = clock_timestamp()");
	world_ask(w,
	    "SELECT lease_apply('%s', 'stop_attempt_expired',"
	    " jsonb_build_object('attempt', '%s'))",
	    w->id, late->attempt);
	world_make_due(w);
	SUCCEEDS(world_resume(w, &e));
	assert_string_equal(world_state(w), "ready owns_wrapper 2 running");
	SUCCEEDS(wave_run(&w->ctl, late, &e));
	/* the wrapper is proved once more, not started again */
	SUCCEEDS(world_resume(w, &e));
	assert_string_equal(world_state(w), "ready owns_wrapper 2 running");
	assert_int_equal(fake_calls("agent.launch"), 2);
}

static void
a_wrapper_that_ignores_sigterm_is_killed(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SHARED);
	fake_stubborn(true, false);
	SUCCEEDS(put_to_sleep(w, &e));
	assert_int_equal(fake_calls("agent.kill"), 1);
	assert_string_equal(world_state(w), "asleep none 1 running");
}

static void
a_wrapper_that_cannot_be_killed_keeps_its_lease(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SHARED);
	fake_stubborn(true, true);
	SUCCEEDS(put_to_sleep(w, &e));
	assert_string_equal(world_state(w), "sleeping stop_needed 1 running");
	assert_string_equal(
	    world_ask(w,
		"SELECT attempts, last_error, round(extract(epoch FROM"
		" next_attempt_at - changed_at)) FROM lease"),
	    "1|the session's processes are still there|5");
	/* the next attempt is not due yet */
	SUCCEEDS(stop_attempt(&w->ctl, w->id, &e));
	assert_int_equal(fake_calls("agent.seal"), 1);
	world_make_due(w);
	SUCCEEDS(stop_attempt(&w->ctl, w->id, &e));
	assert_string_equal(world_ask(w, "SELECT attempts FROM lease"), "2");
	fake_stubborn(false, false);
	world_make_due(w);
	SUCCEEDS(stop_attempt(&w->ctl, w->id, &e));
	assert_string_equal(world_state(w), "asleep none 1 running");
}

/* Each way in which a look can fail, one after the other. */
static void
a_look_that_fails_neither_kills_nor_releases(void **state)
{
	static const struct {
		const char *op;
		enum fake_how how;
		const char *then; /* then this says "could not tell" */
	} CASES[] = {
		{ "agent.seal", FAKE_FAIL, "-" },
		{ "agent.seal", FAKE_LOSE, "-" },
		{ "agent.seal", FAKE_HANG, "-" },
		{ "agent.seal", FAKE_FAIL, "inspect" },
		{ "control", FAKE_FAIL, "inspect" },
	};
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SHARED);
	SUCCEEDS(stop_request(&w->ctl, w->id, STOP_SLEEP, "idle-timeout", NULL,
	    -1, &e));
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		fake_script(CASES[i].op, CASES[i].how, 1);
		fake_script(CASES[i].then, FAKE_UNKNOWN, 1);
		world_make_due(w);
		SUCCEEDS(stop_attempt(&w->ctl, w->id, &e));
		assert_string_equal(world_state(w),
		    "sleeping stop_needed 1 running");
	}
	assert_int_equal(fake_calls("agent.term"), 0);
	assert_int_equal(fake_calls("agent.kill"), 0);
	assert_int_equal(fake_calls("stop"), 0);
	/* a second look that succeeds releases the lease */
	world_make_due(w);
	SUCCEEDS(stop_attempt(&w->ctl, w->id, &e));
	assert_string_equal(world_state(w), "asleep none 1 running");
}

static void
both_sources_must_agree_on_absence(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SHARED);
	fake_script("cell_gone", FAKE_FAIL, 1);
	SUCCEEDS(put_to_sleep(w, &e));
	assert_string_equal(world_state(w), "sleeping stop_needed 1 running");
	world_make_due(w);
	SUCCEEDS(stop_attempt(&w->ctl, w->id, &e));
	assert_string_equal(world_state(w), "asleep none 1 running");
}

/* Neither init alone nor the cgroup alone can release a lease. */
static void
a_source_that_lies_releases_nothing(void **state)
{
	static const struct {
		const char *liar;
		bool there; /* the wrapper is there and cannot be ended */
	} CASES[] = { { "agent.seal", true }, { "cell_gone", true },
		{ "cell_gone", false } };
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SHARED);
	SUCCEEDS(put_to_sleep(w, &e));
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		SUCCEEDS(world_resume(w, &e));
		fake_stubborn(CASES[i].there, CASES[i].there);
		fake_script(CASES[i].liar, FAKE_LIE, 1);
		SUCCEEDS(put_to_sleep(w, &e));
		if (strstr(world_state(w), "sleeping stop_needed ") == NULL)
			fail_msg("case %zu: %s was believed: %s", i,
			    CASES[i].liar, world_state(w));
		fake_stubborn(false, false);
		fake_script(CASES[i].liar, FAKE_WORK, 0);
		world_make_due(w);
		SUCCEEDS(stop_attempt(&w->ctl, w->id, &e));
		assert_non_null(strstr(world_state(w), "asleep none "));
	}
}

static void
a_sandbox_that_is_down_has_no_wrapper(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SHARED);
	fake_crash(w->box);
	SUCCEEDS(put_to_sleep(w, &e));
	assert_string_equal(world_state(w), "asleep none 1 stopped");
	/* so that a worker paused in mid-start cannot start the sandbox */
	assert_int_equal(fake_calls("stop"), 1);
}

static void
a_reboot_proves_absence_without_asking(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };
	int connections;

	world_ready(w, ISOLATION_SHARED);
	fake_crash(w->box);
	str_copy(w->ctl.provider.boot_id, sizeof(w->ctl.provider.boot_id),
	    "another");
	connections = fake_calls("control");
	SUCCEEDS(put_to_sleep(w, &e));
	assert_string_equal(world_state(w), "asleep none 1 stopped");
	assert_int_equal(fake_calls("control"), connections);
}

static void
another_host_releases_nothing(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };
	bool gone;

	world_ready(w, ISOLATION_SESSION);
	str_copy(w->conf.host_name, sizeof(w->conf.host_name), "elsewhere");
	SUCCEEDS(put_to_sleep(w, &e));
	assert_string_equal(world_state(w), "sleeping stop_needed 1 running");
	SUCCEEDS(session_control_delete(&w->ctl, w->id, "acme", &gone, &e));
	assert_false(gone);
	assert_string_equal(world_state(w), "deleting stop_needed 1 running");
	assert_int_equal(fake_calls("agent.seal"), 0);
	assert_int_equal(fake_calls("inspect"), 0);
	assert_int_equal(fake_calls("destroy"), 0);
}

static void
delete_ends_everything(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };
	bool gone = false;

	world_ready(w, ISOLATION_SESSION);
	SUCCEEDS(session_control_delete(&w->ctl, w->id, "acme", &gone, &e));
	assert_true(gone);
	assert_string_equal(world_state(w), "deleted none 1 absent");
	assert_int_equal(fake_calls("destroy"), 1);
	assert_string_equal(world_story(w),
	    "initializing allocate startup_verified retain_warm ready"
	    " request_stop deleting begin_stop_attempt stop_absent deleted");
	SUCCEEDS(session_control_delete(&w->ctl, w->id, "acme", &gone, &e));
	assert_true(gone);
	assert_int_equal(fake_calls("destroy"), 1);
}

static void
delete_of_one_leaves_a_shared_sandbox(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };
	bool gone = false;

	world_ready(w, ISOLATION_SHARED);
	SUCCEEDS(session_control_delete(&w->ctl, w->id, "acme", &gone, &e));
	assert_true(gone);
	assert_string_equal(world_state(w), "deleted none 1 running");
	assert_int_equal(fake_calls("storage_drop"), 1);
	assert_int_equal(fake_calls("destroy"), 0);
}

static void
delete_waits_for_what_cannot_be_killed(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };
	bool gone = true;

	world_ready(w, ISOLATION_SESSION);
	fake_stubborn(true, true);
	SUCCEEDS(session_control_delete(&w->ctl, w->id, "acme", &gone, &e));
	assert_false(gone);
	assert_string_equal(world_state(w), "deleting stop_needed 1 running");
	/* a repeated delete honours the backoff */
	fake_stubborn(false, false);
	SUCCEEDS(session_control_delete(&w->ctl, w->id, "acme", &gone, &e));
	assert_false(gone);
	assert_int_equal(fake_calls("agent.seal"), 1);
	FAILS(world_resume(w, &e), CODE_SESSION_DELETING);
	world_make_due(w);
	SUCCEEDS(session_control_delete(&w->ctl, w->id, "acme", &gone, &e));
	assert_true(gone);
	assert_string_equal(world_state(w), "deleted none 1 absent");
}

static void
delete_goes_on_when_the_provider_refuses(void **state)
{
	static const enum fake_how HOWS[] = { FAKE_FAIL, FAKE_LOSE };
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_LEN(HOWS); i++) {
		struct err e = { 0 };
		bool gone = true;

		world_ready(w, ISOLATION_SESSION);
		fake_script("destroy", HOWS[i], 1);
		SUCCEEDS(
		    session_control_delete(&w->ctl, w->id, "acme", &gone, &e));
		assert_false(gone);
		assert_string_equal(world_state(w),
		    "deleting none 1 destroying");
		SUCCEEDS(finish_delete(&w->ctl, w->id, &gone, &e));
		assert_true(gone);
		assert_string_equal(world_state(w), "deleted none 1 absent");
	}
}

static void
delete_goes_on_when_the_files_cannot_be_dropped(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };
	bool gone = true;

	world_ready(w, ISOLATION_SHARED);
	fake_script("storage_drop", FAKE_FAIL, 1);
	SUCCEEDS(session_control_delete(&w->ctl, w->id, "acme", &gone, &e));
	assert_false(gone);
	assert_string_equal(world_state(w), "deleting none 1 running");
	fake_script("storage_drop", FAKE_FAIL, 1);
	FAILS(finish_delete(&w->ctl, w->id, &gone, &e), FAKE_CODE);
	SUCCEEDS(session_control_delete(&w->ctl, w->id, "acme", &gone, &e));
	assert_true(gone);
	assert_string_equal(world_state(w), "deleted none 1 running");
}

/* Only that host has the session's files and sandbox. */
static void
delete_of_what_sleeps_is_finished_by_its_own_host(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };
	char here[sizeof(w->conf.host_name)];
	bool gone = true;

	world_ready(w, ISOLATION_SESSION);
	SUCCEEDS(put_to_sleep(w, &e));
	str_copy(here, sizeof(here), w->conf.host_name);
	str_copy(w->conf.host_name, sizeof(w->conf.host_name), "elsewhere");
	SUCCEEDS(session_control_delete(&w->ctl, w->id, "acme", &gone, &e));
	assert_false(gone);
	assert_string_equal(world_state(w), "deleting none 1 stopped");
	FAILS(finish_delete(&w->ctl, w->id, &gone, &e), CODE_OTHER_HOST);
	assert_int_equal(fake_calls("destroy") + fake_calls("storage_drop"), 0);
	str_copy(w->conf.host_name, sizeof(w->conf.host_name), here);
	SUCCEEDS(session_control_delete(&w->ctl, w->id, "acme", &gone, &e));
	assert_true(gone);
	assert_string_equal(world_state(w), "deleted none 1 absent");
}

static void
what_nobody_wants_deleted_keeps_its_files(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };
	bool gone = true;

	world_ready(w, ISOLATION_SHARED);
	SUCCEEDS(put_to_sleep(w, &e));
	SUCCEEDS(finish_delete(&w->ctl, w->id, &gone, &e));
	assert_false(gone);
	assert_int_equal(fake_calls("destroy") + fake_calls("storage_drop"), 0);
	assert_string_equal(world_state(w), "asleep none 1 running");
}

/* Even with the lease at "none", a delete looks for processes. */
static void
delete_of_what_sleeps_ends_what_runs_in_it(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };
	bool gone = false;

	world_ready(w, ISOLATION_SHARED);
	SUCCEEDS(put_to_sleep(w, &e));
	fake_cell_add(w->box, w->id, "stranger", 1);
	fake_stubborn(true, true);
	SUCCEEDS(session_control_delete(&w->ctl, w->id, "acme", &gone, &e));
	assert_false(gone);
	assert_string_equal(world_state(w), "deleting stop_needed 1 running");
	assert_int_equal(fake_calls("storage_drop"), 0);
	fake_stubborn(false, false);
	world_make_due(w);
	SUCCEEDS(session_control_delete(&w->ctl, w->id, "acme", &gone, &e));
	assert_true(gone);
}

static void
delete_of_what_never_started_still_looks(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };
	bool gone = false;

	fake_script("storage_make", FAKE_FAIL, 1);
	FAILS(world_create(w, ISOLATION_SESSION, &e), FAKE_CODE);
	SUCCEEDS(session_control_delete(&w->ctl, w->id, "acme", &gone, &e));
	assert_true(gone);
	assert_int_equal(fake_calls("inspect"), 1);
	assert_string_equal(world_state(w), "deleted none 1 absent");
}

static void
a_late_failure_is_not_the_next_generation_s(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SHARED);
	fake_cell_die(w->box, w->id);
	SUCCEEDS(world_resume(w, &e));
	SUCCEEDS(stop_failed_start(&w->ctl, w->id, 1, "startup-failed",
	    "too late", NULL, &e));
	assert_string_equal(world_state(w), "ready owns_wrapper 2 running");
	SUCCEEDS(stop_failed_start(&w->ctl, w->id, 2, "startup-failed",
	    "in time", NULL, &e));
	assert_string_equal(world_state(w), "failed stop_needed 2 running");
}

static void
a_stop_is_dropped_when_somebody_came_meanwhile(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SHARED);
	world_ask(w, "UPDATE session SET activity_seq = activity_seq + 1");
	SUCCEEDS(stop_request(&w->ctl, w->id, STOP_SLEEP, "idle-timeout", NULL,
	    0, &e));
	SUCCEEDS(stop_attempt(&w->ctl, w->id, &e));
	assert_string_equal(world_state(w), "ready owns_wrapper 1 running");
	assert_int_equal(fake_calls("agent.seal"), 0);
}

static void
a_lease_without_its_session_is_kept(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SHARED);
	SUCCEEDS(stop_request(&w->ctl, w->id, STOP_SLEEP, "idle-timeout", NULL,
	    -1, &e));
	world_ask(w, "DELETE FROM session");
	fake_script("agent.seal", FAKE_FAIL, 1);
	SUCCEEDS(stop_attempt(&w->ctl, w->id, &e));
	assert_string_equal(world_ask(w, "SELECT state FROM lease"),
	    "stop_needed");
	assert_int_equal(fake_calls("agent.kill"), 0);
	/* only a look that proves absence releases the lease */
	world_make_due(w);
	SUCCEEDS(stop_attempt(&w->ctl, w->id, &e));
	assert_string_equal(world_ask(w, "SELECT state FROM lease"), "none");
}

static void
a_lease_that_nobody_can_look_for_is_kept(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SHARED);
	SUCCEEDS(stop_request(&w->ctl, w->id, STOP_SLEEP, "idle-timeout", NULL,
	    -1, &e));
	world_ask(w, "DELETE FROM session; DELETE FROM sandbox");
	SUCCEEDS(stop_attempt(&w->ctl, w->id, &e));
	assert_string_equal(world_ask(w, "SELECT state, last_error FROM lease"),
	    "stop_needed|it is not known which sandbox to look in");
	assert_int_equal(fake_calls("agent.seal") + fake_calls("inspect") +
		fake_calls("stop"),
	    0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(sleep_ends_the_wrapper_and_its_own_sandbox),
		WORLD_TEST(a_sibling_of_a_shared_sandbox_does_not_notice),
		WORLD_TEST(
		    a_wrapper_later_than_its_row_is_ended_and_the_next_is_later),
		WORLD_TEST(a_late_attempt_ends_nobody),
		WORLD_TEST(a_wrapper_that_ignores_sigterm_is_killed),
		WORLD_TEST(a_wrapper_that_cannot_be_killed_keeps_its_lease),
		WORLD_TEST(a_look_that_fails_neither_kills_nor_releases),
		WORLD_TEST(both_sources_must_agree_on_absence),
		WORLD_TEST(a_source_that_lies_releases_nothing),
		WORLD_TEST(a_sandbox_that_is_down_has_no_wrapper),
		WORLD_TEST(a_reboot_proves_absence_without_asking),
		WORLD_TEST(another_host_releases_nothing),
		WORLD_TEST(delete_ends_everything),
		WORLD_TEST(delete_of_one_leaves_a_shared_sandbox),
		WORLD_TEST(delete_waits_for_what_cannot_be_killed),
		WORLD_TEST(delete_goes_on_when_the_provider_refuses),
		WORLD_TEST(delete_goes_on_when_the_files_cannot_be_dropped),
		WORLD_TEST(delete_of_what_sleeps_is_finished_by_its_own_host),
		WORLD_TEST(what_nobody_wants_deleted_keeps_its_files),
		WORLD_TEST(delete_of_what_sleeps_ends_what_runs_in_it),
		WORLD_TEST(delete_of_what_never_started_still_looks),
		WORLD_TEST(a_late_failure_is_not_the_next_generation_s),
		WORLD_TEST(a_stop_is_dropped_when_somebody_came_meanwhile),
		WORLD_TEST(a_lease_without_its_session_is_kept),
		WORLD_TEST(a_lease_that_nobody_can_look_for_is_kept),
	};

	return cmocka_run_group_tests_name("stop", tests, NULL, NULL);
}
