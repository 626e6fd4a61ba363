/*
 * meanwhile_world.c: tests changes that another worker makes between two steps
 * of a start or a stop.
 */
#include "world.h"

#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "control/discover.h"
#include "control/start.h"
#include "control/stop.h"
#include "control/wave.h"

/* ---- starts */

static void
another_intends_to_start_it(void *arg)
{
	world_ask(arg, "UPDATE lease SET generation = 2, instance = 'other'");
}

static void
a_look_counts_for_the_generation_it_was_for(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SHARED);
	fake_cell_die(w->box, w->id);
	/* the other intent follows the look, and its launch may still come */
	fake_meanwhile("agent.seal", another_intends_to_start_it, w);
	SUCCEEDS(world_resume(w, &e));
	assert_string_equal(world_state(w), "ready owns_wrapper 3 running");
	assert_int_equal(fake_calls("agent.seal"), 2);
}

static void
its_launch_arrives(void *arg)
{
	struct world *w = arg;
	char instance[ID_MAX];

	str_copy(instance, sizeof(instance),
	    world_ask(w, "SELECT instance FROM lease"));
	fake_cell_add(w->box, w->id, instance, 1);
}

static void
a_launch_that_arrives_after_the_look_is_found(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SHARED);
	fake_cell_die(w->box, w->id);
	fake_meanwhile("agent.seal", its_launch_arrives, w);
	SUCCEEDS(world_resume(w, &e));
	assert_string_equal(world_state(w), "ready owns_wrapper 1 running");
	assert_int_equal(fake_calls("agent.launch"), 1);
}

static void
another_wants_it_asleep(void *arg)
{
	struct world *w = arg;

	world_ask(w,
	    "SELECT session_request_stop(id, 'sleep',"
	    " '{\"reason\": \"user-interrupt\"}') FROM session");
}

/* Even if its proof succeeded: a session put to sleep stays asleep. */
static void
a_start_that_was_stopped_before_its_outcome_is_none(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	fake_meanwhile("agent.prove", another_wants_it_asleep, w);
	FAILS(world_create(w, ISOLATION_SHARED, &e), CODE_START_STOPPED);
	assert_string_equal(world_state(w), "asleep none 1 running");
}

/* The stop may be under way: no command runs in a cell being stopped. */
static void
what_is_to_be_stopped_is_not_proved(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };
	int proofs;

	world_ready(w, ISOLATION_SHARED);
	proofs = fake_calls("agent.prove");
	fake_meanwhile("agent.look", another_wants_it_asleep, w);
	SUCCEEDS(world_resume(w, &e));
	assert_string_equal(world_state(w), "ready owns_wrapper 2 running");
	assert_int_equal(fake_calls("agent.prove"), proofs + 1);
}

static void
it_crashes(void *arg)
{
	struct world *w = arg;

	fake_crash(w->box);
	fake_meanwhile("agent.launch", it_crashes, w);
}

/* The client would be told "try again" for ever. */
static void
a_sandbox_that_dies_each_time_it_is_started_is_a_failed_start(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SHARED);
	SUCCEEDS(session_control_sleep(&w->ctl, w->id, "acme", "user-interrupt",
	    -1, &e));
	fake_crash(w->box);
	fake_meanwhile("agent.launch", it_crashes, w);
	FAILS(world_resume(w, &e), CODE_START_FAILED);
	assert_string_equal(world_ask(w, "SELECT state FROM session"),
	    "asleep");
}

static void
set_env(struct world *w, const char *value)
{
	auto_json json_t *env = json_pack("{s:s}", "A", value);
	struct err e = { 0 };

	SUCCEEDS(session_control_set_env(&w->ctl, w->id, "acme", env, &e));
}

static void
another_changes_it_once_more(void *arg)
{
	set_env(arg, "2");
}

static void
another_changes_its_environment(void *arg)
{
	set_env(arg, "1");
	fake_meanwhile("agent.env", another_changes_it_once_more, arg);
}

/*
 * Two workers send the environment.  If the older one arrives last, the wrapper
 * would keep it: so the first worker reads the row again.
 */
static void
a_wrapper_has_the_environment_of_its_row(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SHARED);
	SUCCEEDS(session_control_sleep(&w->ctl, w->id, "acme", "user-interrupt",
	    -1, &e));
	fake_meanwhile("agent.prove", another_changes_its_environment, w);
	SUCCEEDS(world_resume(w, &e));
	/* the change during the start, the next one, and that once more */
	assert_int_equal(fake_calls("agent.env"), 3);
	/* the whole set, so that a variable removed meanwhile is gone */
	assert_true(
	    json_is_true(json_object_get(fake_said("agent.env"), "whole")));
}

/* ---- stops */

/* The next attempt is due soon, and perhaps no other worker makes it. */
static void
who_waits_for_a_stop_makes_its_next_attempt(void **state)
{
	/* wait: the attempt is due after a hundredth of this */
	enum { ENOUGH_MS = 20000 };
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SHARED);
	fake_script("agent.seal", FAKE_FAIL, 1);
	SUCCEEDS(session_control_sleep(&w->ctl, w->id, "acme", "user-interrupt",
	    -1, &e));
	world_ask(w,
	    "UPDATE lease SET next_attempt_at ="
	    " clock_timestamp() + interval '200 ms'");
	SUCCEEDS(
	    start_session(&w->ctl, w->id, "acme", clock_ms() + ENOUGH_MS, &e));
	assert_string_equal(world_state(w), "ready owns_wrapper 2 running");
}

static void
init_that_listens_at_last_is_asked(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SHARED);
	fake_script("control", FAKE_DEAF, 1);
	SUCCEEDS(session_control_sleep(&w->ctl, w->id, "acme", "user-interrupt",
	    -1, &e));
	assert_string_equal(world_state(w), "asleep none 1 running");
}

static void
a_start_that_was_killed_half_way_is_ended(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SHARED);
	fake_half_start(w->box);
	SUCCEEDS(session_control_sleep(&w->ctl, w->id, "acme", "user-interrupt",
	    -1, &e));
	assert_string_equal(world_state(w), "asleep none 1 stopped");
	assert_int_equal(fake_calls("stop"), 1);
}

/* Another worker starts the sandbox, with an intent that is not ours to end. */
static void
a_start_of_another_incarnation_proves_nothing(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SHARED);
	fake_box_add(w->box, "next");
	fake_half_start(w->box);
	SUCCEEDS(session_control_sleep(&w->ctl, w->id, "acme", "user-interrupt",
	    -1, &e));
	assert_string_equal(world_state(w), "sleeping stop_needed 1 running");
	assert_int_equal(fake_calls("stop"), 0);
}

static void
the_sockets_of_what_lives_stay(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SHARED);
	fake_stubborn(true, true);
	SUCCEEDS(session_control_sleep(&w->ctl, w->id, "acme", "user-interrupt",
	    -1, &e));
	assert_true(world_has_socket(w, 1));
	fake_stubborn(false, false);
	world_make_due(w);
	SUCCEEDS(stop_attempt(&w->ctl, w->id, &e));
	assert_false(world_has_socket(w, 1));
}

/* A row that refuses its outcome does not keep the other rows from theirs. */
static void
outcomes_are_recorded_one_by_one_when_they_must_be(void **state)
{
	auto_wave struct wave *both = NULL;
	struct world *w = *state;
	struct err e = { 0 };
	char first[ID_MAX];
	int rc;

	world_ready(w, ISOLATION_SHARED);
	str_copy(first, sizeof(first), w->id);
	world_ready(w, ISOLATION_SHARED);
	another_wants_it_asleep(w);
	SUCCEEDS(wave_claim(&w->ctl,
	    &(struct wave_options){ .limit = WAVE_MAX }, &both, &e));
	assert_int_equal(both->count, 2);
	world_ask(w,
	    "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
	    " 'BEGIN RAISE ''refused''; END';"
	    "CREATE TRIGGER refuse BEFORE UPDATE ON lease FOR EACH ROW WHEN"
	    " (OLD.session_id = '%s' AND NEW.state = 'none')"
	    " EXECUTE FUNCTION refuse()",
	    first);
	rc = wave_run(&w->ctl, both, &e);
	world_ask(w, "DROP FUNCTION refuse CASCADE");
	assert_int_equal(rc, -1);
	assert_string_equal(world_state(w), "asleep none 1 running");
	str_copy(w->id, sizeof(w->id), first);
	assert_string_equal(world_state(w), "sleeping stopping 1 running");
}

/* ---- where to look */

static void
an_id_that_none_can_be_is_looked_for_nowhere(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SHARED);
	world_ask(w,
	    "INSERT INTO sandbox (id, tenant, class, state, incarnation, host,"
	    " boot_id) SELECT 'nonsense', tenant, class, state, incarnation,"
	    " host, boot_id FROM sandbox;"
	    "UPDATE session SET sandbox_id = 'nonsense';"
	    "UPDATE lease SET sandbox_id = 'nonsense'");
	another_wants_it_asleep(w);
	SUCCEEDS(stop_attempt(&w->ctl, w->id, &e));
	assert_string_equal(world_ask(w, "SELECT state, last_error FROM lease"),
	    "stop_needed|\"nonsense\" is not a sandbox id");
	assert_int_equal(fake_calls("inspect"), 0);
}

/* Any host may settle the row, but only the other host may end its sandbox. */
static void
a_stopped_sandbox_is_ended_by_its_own_host(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SESSION);
	fake_crash(w->box);
	world_ask(w, "UPDATE sandbox SET state = 'stopped'");
	another_wants_it_asleep(w);
	world_move(w);
	SUCCEEDS(stop_attempt(&w->ctl, w->id, &e));
	assert_string_equal(world_state(w), "asleep none 1 stopped");
	assert_int_equal(fake_calls("stop"), 0);
}

static void
another_host_s_boot_proves_nothing(void **state)
{
	struct world *w = *state;
	struct session_row s;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SHARED);
	SUCCEEDS(control_session(&w->ctl, w->id, "acme", &s, &e));
	str_copy(s.boot_id, sizeof(s.boot_id), "another");
	assert_true(discover_sandbox_down(&w->ctl, &s, &e));
	world_move(w);
	assert_false(discover_sandbox_down(&w->ctl, &s, &e));
	assert_code(e.code, CODE_OTHER_HOST);
}

/* No process outlives a reboot, so any process that answers is another one. */
static void
after_a_reboot_nobody_is_asked(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };
	int asked;

	world_ready(w, ISOLATION_SHARED);
	asked = fake_calls("agent.look");
	fake_crash(w->box);
	str_copy(w->ctl.provider.boot_id, sizeof(w->ctl.provider.boot_id),
	    "another");
	fake_script("inspect", FAKE_UNKNOWN, 1);
	SUCCEEDS(world_resume(w, &e));
	assert_string_equal(world_state(w), "ready owns_wrapper 2 running");
	assert_int_equal(fake_calls("agent.look"), asked);
	assert_int_equal(fake_calls("inspect"), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_look_counts_for_the_generation_it_was_for),
		WORLD_TEST(a_launch_that_arrives_after_the_look_is_found),
		WORLD_TEST(a_start_that_was_stopped_before_its_outcome_is_none),
		WORLD_TEST(what_is_to_be_stopped_is_not_proved),
		WORLD_TEST(
		    a_sandbox_that_dies_each_time_it_is_started_is_a_failed_start),
		WORLD_TEST(a_wrapper_has_the_environment_of_its_row),
		WORLD_TEST(who_waits_for_a_stop_makes_its_next_attempt),
		WORLD_TEST(init_that_listens_at_last_is_asked),
		WORLD_TEST(a_start_that_was_killed_half_way_is_ended),
		WORLD_TEST(a_start_of_another_incarnation_proves_nothing),
		WORLD_TEST(the_sockets_of_what_lives_stay),
		WORLD_TEST(outcomes_are_recorded_one_by_one_when_they_must_be),
		WORLD_TEST(an_id_that_none_can_be_is_looked_for_nowhere),
		WORLD_TEST(a_stopped_sandbox_is_ended_by_its_own_host),
		WORLD_TEST(another_host_s_boot_proves_nothing),
		WORLD_TEST(after_a_reboot_nobody_is_asked),
	};

	return cmocka_run_group_tests_name("meanwhile", tests, NULL, NULL);
}
