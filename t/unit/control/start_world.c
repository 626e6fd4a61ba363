/* start_world.c: tests starts, from an intent to a wrapper that answers. */
#include "world.h"

#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "control/start.h"

static void
a_create_leads_to_ready(void **state)
{
	struct world *w = *state;

	world_ready(w, ISOLATION_SESSION);
	assert_int_equal(fake_calls("storage_make"), 1);
	assert_int_equal(fake_calls("ensure"), 1);
	assert_int_equal(fake_calls("agent.launch"), 1);
	assert_int_equal(fake_calls("agent.prove"), 1);
	assert_string_equal(world_story(w),
	    "initializing allocate startup_verified retain_warm ready");
}

static void
the_intent_is_there_before_anything_is_done(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	fake_script("storage_make", FAKE_FAIL, 1);
	FAILS(world_create(w, ISOLATION_SESSION, &e), FAKE_CODE);
	assert_true(start_undecided(&e));
	assert_string_equal(world_state(w),
	    "initializing owns_wrapper 1 creating");
	assert_int_equal(fake_calls("ensure"), 0);
	assert_string_equal(world_story(w), "initializing allocate");
}

static void
an_ensure_that_gave_no_answer_is_not_a_failure(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	fake_script("ensure", FAKE_LOSE, 1);
	FAILS(world_create(w, ISOLATION_SESSION, &e), CODE_TIMED_OUT);
	assert_string_equal(world_state(w),
	    "initializing owns_wrapper 1 creating");
	assert_int_equal(fake_calls("agent.launch"), 0);
	assert_string_equal(world_steps(w), "workspace:made sandbox!");
	/* the next request goes on where this one ended */
	SUCCEEDS(world_resume(w, &e));
	assert_string_equal(world_steps(w),
	    "workspace:kept sandbox:started admission:admitted"
	    " wrapper:launched ready:proved");
	assert_string_equal(world_state(w), "ready owns_wrapper 2 running");
}

static void
an_ensure_that_did_nothing_is_followed_by_a_new_incarnation(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	fake_script("ensure", FAKE_FAIL, 1);
	FAILS(world_create(w, ISOLATION_SESSION, &e), FAKE_CODE);
	SUCCEEDS(world_resume(w, &e));
	assert_string_equal(world_state(w), "ready owns_wrapper 2 running");
	assert_string_equal(world_ask(w, "SELECT epoch FROM sandbox"), "2");
}

static void
a_launch_that_fails_is_recorded_after_an_observed_absence(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	fake_script("agent.launch", FAKE_FAIL, 1);
	FAILS(world_create(w, ISOLATION_SESSION, &e), CODE_LAUNCH_FAILED);
	assert_string_equal(world_ask(w, "SELECT state, reason FROM session"),
	    "failed|the fake refuses");
	assert_int_equal(fake_calls("agent.seal"), 1);
	assert_string_equal(world_story(w),
	    "initializing allocate request_stop failed begin_stop_attempt"
	    " stop_absent");
	assert_string_equal(world_state(w), "failed none 1 stopped");
	assert_string_equal(world_steps(w),
	    "workspace:made sandbox:started admission:admitted wrapper!");
	assert_string_equal(world_stop_reason(w), "startup-failed");
	SUCCEEDS(world_resume(w, &e));
	assert_string_equal(world_state(w), "ready owns_wrapper 2 running");
	assert_string_equal(world_ask(w, "SELECT reason IS NULL FROM session"),
	    "t");
}

/* A create without a name whose launch fails; returns the rows' states. */
static const char *
fail_nameless(struct world *w, const char *key, struct err *e)
{
	const struct session_options wish = { .isolation = ISOLATION_SESSION,
		.sleep_after_seconds = 600,
		.idempotency_key = key,
		.request_hash = "hash" };
	enum disposition d;

	fake_script("agent.launch", FAKE_FAIL, 1);
	assert_int_equal(session_control_create(&w->ctl, &w->who, &wish,
			     clock_ms() + WORLD_WAIT_MS, w->id, &d, e),
	    -1);
	return world_ask(w,
	    "SELECT s.state, l.state, (SELECT count(*) FROM idempotency)"
	    " FROM session s JOIN lease l ON l.session_id = s.id"
	    " WHERE s.id = '%s'",
	    w->id);
}

static void
what_nobody_can_ask_for_is_taken_back(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	assert_string_equal(fail_nameless(w, NULL, &e), "deleted|none|0");
	assert_code(e.code, CODE_LAUNCH_FAILED);
	assert_string_equal(fail_nameless(w, "key", &e), "deleted|none|0");
}

static void
somebody_repeats_it(void *arg)
{
	struct world *w = arg;

	world_ask(w, "SELECT session_told(id) FROM session");
}

static void
what_somebody_was_told_of_stays(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	fake_meanwhile("agent.launch", somebody_repeats_it, w);
	assert_string_equal(fail_nameless(w, "key", &e), "failed|none|1");
}

static void
a_wrapper_that_proves_nothing_is_stopped(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	fake_script("agent.prove", FAKE_FAIL, 1);
	FAILS(world_create(w, ISOLATION_SHARED, &e), CODE_LAUNCH_FAILED);
	assert_int_equal(fake_calls("agent.term"), 1);
	assert_string_equal(world_state(w), "failed none 1 creating");
	assert_non_null(strstr(world_steps(w), " wrapper:launched ready!"));
	assert_string_equal(world_stop_reason(w), "readiness-failed");
}

static void
a_proof_that_prints_something_else_is_none(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	fake_script("agent.prove", FAKE_LIE, 1);
	FAILS(world_create(w, ISOLATION_SHARED, &e), CODE_NOT_PROVED);
	assert_string_equal(world_state(w), "failed none 1 creating");
	assert_string_equal(world_stop_reason(w), "readiness-failed");
}

/* A look from another host would see nothing, and so prove nothing. */
static void
another_host_starts_nothing(void **state)
{
	static const char *const STATES[] = { "ready owns_wrapper 1 running",
		"asleep none 1 stopped" };
	struct world *w = *state;
	char here[sizeof(w->conf.host_name)];
	struct err e = { 0 };

	world_ready(w, ISOLATION_SESSION);
	str_copy(here, sizeof(here), w->conf.host_name);
	for (size_t i = 0; i < ARRAY_LEN(STATES); i++) {
		int looks = fake_calls("agent.look");

		str_copy(w->conf.host_name, sizeof(w->conf.host_name),
		    "elsewhere");
		FAILS(world_resume(w, &e), CODE_OTHER_HOST);
		assert_non_null(strstr(e.msg, here));
		assert_non_null(strstr(e.more, here));
		assert_string_equal(world_state(w), STATES[i]);
		assert_int_equal(fake_calls("agent.look"), looks);
		str_copy(w->conf.host_name, sizeof(w->conf.host_name), here);
		SUCCEEDS(session_control_sleep(&w->ctl, w->id, "acme",
		    "user-interrupt", -1, &e));
	}
}

static void
a_failure_that_cannot_be_looked_at_keeps_its_lease(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	fake_script("agent.launch", FAKE_FAIL, 1);
	fake_script("agent.seal", FAKE_FAIL, 1);
	FAILS(world_create(w, ISOLATION_SESSION, &e), CODE_LAUNCH_FAILED);
	assert_string_equal(world_state(w), "failed stop_needed 1 creating");
	assert_int_equal(fake_calls("agent.kill"), 0);
}

static void
a_launch_whose_answer_was_lost_is_found_and_kept(void **state)
{
	struct world *w = *state;

	fake_script("agent.launch", FAKE_LOSE, 1);
	world_ready(w, ISOLATION_SESSION);
	assert_int_equal(fake_calls("agent.launch"), 1);
}

static void
a_stale_generation_is_no_failure(void **state)
{
	struct world *w = *state;
	struct agent_target t = { .generation = 4 };
	struct agent_wrappers found;
	struct session_row s;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SHARED);
	SUCCEEDS(session_control_sleep(&w->ctl, w->id, "acme", "user-interrupt",
	    -1, &e));
	SUCCEEDS(control_session(&w->ctl, w->id, "", &s, &e));
	t = control_target(&s);
	t.generation = 4;
	SUCCEEDS(agent_seal(&w->ctl.provider, &t, clock_ms() + WORLD_WAIT_MS,
	    &found, &e));
	/* three tries, generations 2 to 4, all of them sealed */
	FAILS(world_resume(w, &e), CODE_STALE_GENERATION);
	assert_true(start_undecided(&e));
	assert_string_equal(world_state(w),
	    "initializing owns_wrapper 4 running");
	assert_null(strstr(world_story(w), "failed"));
	SUCCEEDS(world_resume(w, &e));
	assert_string_equal(world_state(w), "ready owns_wrapper 5 running");
}

static void
a_wrapper_that_died_is_followed_by_the_next_generation(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SESSION);
	fake_cell_die(w->box, w->id);
	assert_true(world_has_socket(w, 1));
	SUCCEEDS(world_resume(w, &e));
	assert_string_equal(world_state(w), "ready owns_wrapper 2 running");
	assert_int_equal(fake_calls("ensure"), 1);
	assert_false(world_has_socket(w, 1));
	assert_true(world_has_socket(w, 2));
}

/* The launch was on its way while another worker looked: too late. */
static void
a_late_launch_of_a_generation_that_was_seen_absent_is_refused(void **state)
{
	struct world *w = *state;
	struct agent_target late = { .generation = 1 };
	struct agent_wrappers found;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SHARED);
	str_copy(late.sandbox, sizeof(late.sandbox), w->box);
	str_copy(late.session, sizeof(late.session), w->id);
	str_copy(late.instance, sizeof(late.instance), "late");
	str_copy(late.incarnation, sizeof(late.incarnation),
	    world_ask(w, "SELECT incarnation FROM sandbox"));
	fake_cell_die(w->box, w->id);
	SUCCEEDS(world_resume(w, &e));
	fake_cell_die(w->box, w->id);
	FAILS(agent_launch(&w->ctl.provider, &(struct sandbox_spec){ 0 }, &late,
		  &(struct agent_launch){ 0 }, clock_ms() + WORLD_WAIT_MS, &e),
	    CODE_STALE_GENERATION);
	SUCCEEDS(agent_look(&w->ctl.provider, &late, 0,
	    clock_ms() + WORLD_WAIT_MS, &found, &e));
	assert_int_equal(found.count, 0);
}

static void
what_is_warm_is_proved_and_used_again(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SESSION);
	(void)world_ask(w,
	    "UPDATE session SET extended_until = clock_timestamp() + interval '1 day'");
	SUCCEEDS(world_resume(w, &e));
	assert_int_equal(fake_calls("agent.launch"), 1);
	assert_int_equal(fake_calls("agent.prove"), 2);
	assert_string_equal(world_state(w), "ready owns_wrapper 1 running");
	assert_non_null(
	    strstr(world_story(w), "reuse startup_verified retain_warm"));
	assert_string_equal(world_steps(w), ""); /* nothing was started */
	/* a longer promise to keep the session warm is not shortened */
	assert_string_equal(
	    world_ask(w,
		"SELECT keep_warm_until > clock_timestamp() + interval '23 hours', startup_deadline IS NULL FROM lease"),
	    "t|t");
}

static void
a_warm_reuse_that_fails_invalidates_the_wrapper(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SESSION);
	fake_script("agent.prove", FAKE_FAIL, 1);
	SUCCEEDS(world_resume(w, &e));
	assert_string_equal(world_state(w), "ready owns_wrapper 2 running");
	assert_string_equal(world_stop_reason(w), "unhealthy-wrapper");
	assert_string_equal(
	    world_ask(w,
		"SELECT what, generation FROM event WHERE kind = 'step' AND reason IS NOT NULL"),
	    "ready|1");
	assert_int_equal(fake_calls("agent.seal"), 1);
}

static void
a_hot_one_leaves_it_alone(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SESSION);
	fake_status(&(struct agent_status){ .busy = true, .running = 1 });
	fake_script("agent.prove", FAKE_FAIL, 1);
	SUCCEEDS(world_resume(w, &e));
	assert_int_equal(fake_calls("agent.prove"), 1);
	assert_string_equal(world_state(w), "ready owns_wrapper 1 running");
	assert_null(strstr(world_story(w), "reuse"));
	assert_string_equal(
	    world_ask(w, "SELECT count(*) FROM event WHERE kind = 'step'"),
	    "5"); /* the steps of the first start */
}

/* Another worker has the intent; its lock ends with its connection. */
static void
who_is_at_work_on_a_start_is_not_disturbed(void **state)
{
	static const struct store_options OPTIONS = { "other", 5000 };
	struct world *w = *state;
	struct store *other = store_new(w->conf.database, &OPTIONS);
	auto_rows struct rows *plan = NULL;
	auto_free char *spec = NULL;
	json_t *intent = start_intent(&w->ctl);
	struct err e = { 0 };

	world_ready(w, ISOLATION_SESSION);
	assert_false(start_under_way(&w->ctl, w->id));
	SUCCEEDS(session_control_sleep(&w->ctl, w->id, "acme", "user-interrupt",
	    -1, &e));
	json_object_set_new(intent, "seenState", json_string("none"));
	json_object_set_new(intent, "seenGeneration", json_integer(1));
	spec = control_spec_text(intent);
	SUCCEEDS(
	    STORE_RUN(other, STMT_SESSION_RESTART, &plan, &e, w->id, spec));
	assert_true(rows_bool(plan, 0, "start_lock"));
	assert_true(start_under_way(&w->ctl, w->id));
	FAILS(start_session(&w->ctl, w->id, "acme", clock_ms(), &e),
	    CODE_BEING_STARTED);
	assert_true(start_undecided(&e));
	assert_string_equal(world_state(w),
	    "initializing owns_wrapper 2 creating");
	store_free(other);
	SUCCEEDS(world_resume(w, &e));
	assert_false(start_under_way(&w->ctl, w->id));
	assert_string_equal(world_state(w), "ready owns_wrapper 3 running");
	assert_string_equal(world_ask(w,
				"SELECT count(*) FROM pg_locks"
				" WHERE locktype = 'advisory'"),
	    "0");
}

static void
a_shared_sandbox_is_started_once(void **state)
{
	struct world *w = *state;

	world_ready(w, ISOLATION_SHARED);
	world_ready(w, ISOLATION_SHARED);
	assert_int_equal(fake_calls("ensure"), 1);
	assert_int_equal(fake_calls("agent.launch"), 2);
	assert_string_equal(world_ask(w, "SELECT count(*) FROM sandbox"), "1");
}

static void
a_sandbox_that_died_leaves_its_sessions_asleep(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SHARED);
	fake_crash(w->box);
	SUCCEEDS(world_resume(w, &e));
	assert_string_equal(world_state(w), "ready owns_wrapper 2 running");
	assert_string_equal(world_ask(w, "SELECT epoch FROM sandbox"), "2");
	assert_string_equal(world_story(w),
	    "initializing allocate startup_verified retain_warm ready"
	    " owned_absent asleep"
	    " initializing allocate startup_verified retain_warm ready");
	assert_string_equal(world_ask(w,
				"SELECT detail->>'reason' FROM event"
				" WHERE what = 'asleep'"),
	    "sandbox_gone");
}

/* "Lost" is for ever, so files count as gone only after a look that worked. */
static void
files_that_cannot_be_looked_for_are_not_gone(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SHARED);
	SUCCEEDS(session_control_sleep(&w->ctl, w->id, "acme", "user-interrupt",
	    -1, &e));
	fake_script("storage_exists", FAKE_FAIL, 1);
	FAILS(world_resume(w, &e), FAKE_CODE);
	SUCCEEDS(world_resume(w, &e));
	assert_string_equal(world_state(w), "ready owns_wrapper 3 running");
}

/* A client that asked for files gets them, or no session. */
static void
a_file_that_cannot_be_written_fails_the_start(void **state)
{
	struct world *w = *state;
	auto_json json_t *files =
	    json_pack("[{s:s, s:s}]", "path", "/x", "content", "y");
	const struct session_options wish = { .isolation = ISOLATION_SHARED,
		.sleep_after_seconds = 600,
		.files = files };
	enum disposition d;
	struct err e = { 0 };

	fake_script("agent.write", FAKE_DENIED, 1);
	FAILS(session_control_create(&w->ctl, &w->who, &wish,
		  clock_ms() + WORLD_WAIT_MS, w->id, &d, &e),
	    CODE_VALIDATION_FAILED);
	assert_string_equal(e.field, "files[0].path");
	assert_string_equal(world_state(w), "deleted none 1 creating");
	assert_int_equal(fake_calls("agent.prove"), 0);
}

static void
files_that_are_gone_make_it_lost(void **state)
{
	struct world *w = *state;
	const struct provider *p = &w->ctl.provider;
	struct err e = { 0 };
	int looks;

	world_ready(w, ISOLATION_SHARED);
	SUCCEEDS(session_control_sleep(&w->ctl, w->id, "acme", "user-interrupt",
	    -1, &e));
	SUCCEEDS(p->ops->storage_drop(p, w->box, w->id, &e));
	FAILS(world_resume(w, &e), CODE_STORAGE_GONE);
	assert_string_equal(world_state(w), "lost none 2 running");
	assert_string_equal(world_steps(w), "workspace!");
	looks = fake_calls("agent.look");
	FAILS(world_resume(w, &e), CODE_SESSION_LOST);
	assert_int_equal(fake_calls("agent.look"), looks);
}

static void
while_draining_nothing_starts(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SESSION);
	SUCCEEDS(
	    session_control_sleep(&w->ctl, w->id, "acme", "shutdown", -1, &e));
	world_ask(w, "UPDATE installation SET draining = true");
	FAILS(world_resume(w, &e), CODE_DRAINING);
	assert_string_equal(world_state(w), "asleep none 1 stopped");
}

static void
another_tenant_s_session_is_not_there(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };
	bool gone;

	world_ready(w, ISOLATION_SESSION);
	FAILS(start_session(&w->ctl, w->id, "other", clock_ms() + WORLD_WAIT_MS,
		  &e),
	    CODE_SESSION_NOT_FOUND);
	FAILS(session_control_delete(&w->ctl, w->id, "other", &gone, &e),
	    CODE_SESSION_NOT_FOUND);
	FAILS(session_control_sleep(&w->ctl, w->id, "other", "user-interrupt",
		  -1, &e),
	    CODE_SESSION_NOT_FOUND);
	assert_string_equal(world_state(w), "ready owns_wrapper 1 running");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_create_leads_to_ready),
		WORLD_TEST(the_intent_is_there_before_anything_is_done),
		WORLD_TEST(an_ensure_that_gave_no_answer_is_not_a_failure),
		WORLD_TEST(
		    an_ensure_that_did_nothing_is_followed_by_a_new_incarnation),
		WORLD_TEST(
		    a_launch_that_fails_is_recorded_after_an_observed_absence),
		WORLD_TEST(what_nobody_can_ask_for_is_taken_back),
		WORLD_TEST(what_somebody_was_told_of_stays),
		WORLD_TEST(a_wrapper_that_proves_nothing_is_stopped),
		WORLD_TEST(a_proof_that_prints_something_else_is_none),
		WORLD_TEST(another_host_starts_nothing),
		WORLD_TEST(a_failure_that_cannot_be_looked_at_keeps_its_lease),
		WORLD_TEST(a_launch_whose_answer_was_lost_is_found_and_kept),
		WORLD_TEST(a_stale_generation_is_no_failure),
		WORLD_TEST(
		    a_wrapper_that_died_is_followed_by_the_next_generation),
		WORLD_TEST(
		    a_late_launch_of_a_generation_that_was_seen_absent_is_refused),
		WORLD_TEST(what_is_warm_is_proved_and_used_again),
		WORLD_TEST(a_warm_reuse_that_fails_invalidates_the_wrapper),
		WORLD_TEST(a_hot_one_leaves_it_alone),
		WORLD_TEST(who_is_at_work_on_a_start_is_not_disturbed),
		WORLD_TEST(a_shared_sandbox_is_started_once),
		WORLD_TEST(a_sandbox_that_died_leaves_its_sessions_asleep),
		WORLD_TEST(files_that_cannot_be_looked_for_are_not_gone),
		WORLD_TEST(a_file_that_cannot_be_written_fails_the_start),
		WORLD_TEST(files_that_are_gone_make_it_lost),
		WORLD_TEST(while_draining_nothing_starts),
		WORLD_TEST(another_tenant_s_session_is_not_there),
	};

	return cmocka_run_group_tests_name("start", tests, NULL, NULL);
}
