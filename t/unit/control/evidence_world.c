/* evidence_world.c: tests which failures end a whole sandbox. */
#include "world.h"

#include "common/clock.h"
#include "control/launch.h"
#include "control/start.h"

/*
 * Makes a shared sandbox with a sibling in it, and a start that fails; returns
 * the sibling's state.
 */
static const char *
sibling_after(struct world *w, const char *op, enum fake_how how, bool own)
{
	char sibling[ID_MAX];
	struct err e = { 0 };

	world_ready(w, ISOLATION_SHARED);
	str_copy(sibling, sizeof(sibling), w->id);
	fake_capacity(w->conf.capacity_min_mb, 0, own);
	fake_script(op, how, 1);
	assert_int_equal(world_create(w, ISOLATION_SHARED, &e), -1);
	return world_ask(w,
	    "SELECT s.state, coalesce(s.reason, ''), l.state"
	    " FROM session s JOIN lease l ON l.session_id = s.id"
	    " WHERE s.id = '%s'",
	    sibling);
}

static void
a_full_disk_of_its_own_destroys_a_sandbox_and_says_so(void **state)
{
	struct world *w = *state;

	assert_string_equal(sibling_after(w, "storage_make", FAKE_FULL, true),
	    "asleep|sandbox_destroyed|none");
	assert_int_equal(fake_calls("stop"), 1);
	assert_string_equal(
	    world_ask(w,
		"SELECT count(*) FROM event WHERE"
		" kind = 'disk'"
		" AND what = 'sandbox_destroyed'"
		" AND detail->>'error' LIKE '%%no room left%%'"),
	    "1");
	/* the create was refused and left nothing */
	assert_string_equal(
	    world_ask(w, "SELECT state FROM session WHERE id = '%s'", w->id),
	    "deleted");
}

/* The session went to sleep with its sandbox and can be resumed, too. */
static void
who_met_a_full_disk_of_its_own_has_not_failed(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SESSION);
	SUCCEEDS(session_control_sleep(&w->ctl, w->id, "acme", "user-interrupt",
	    -1, &e));
	fake_capacity(1 << 20, 0, true);
	fake_script("storage_make", FAKE_FULL, 1);
	FAILS(world_resume(w, &e), CODE_INSUFFICIENT_STORAGE);
	assert_string_equal(world_state(w), "asleep none 2 stopped");
	assert_string_equal(world_steps(w), "workspace!");
	SUCCEEDS(world_resume(w, &e));
}

static void
an_engine_s_own_failure_is_evidence(void **state)
{
	struct world *w = *state;

	assert_string_equal(sibling_after(w, "storage_make", FAKE_BROKEN,
				false),
	    "asleep|sandbox_destroyed|none");
	assert_int_equal(fake_calls("stop"), 1);
}

static void
a_neighbour_s_full_disk_destroys_nobody_s_sandbox(void **state)
{
	struct world *w = *state;

	assert_string_equal(sibling_after(w, "storage_make", FAKE_FULL, false),
	    "ready||owns_wrapper");
	assert_int_equal(fake_calls("stop"), 0);
	assert_int_equal(fake_calls("destroy"), 0);
	assert_string_equal(world_ask(w,
				"SELECT what FROM event WHERE kind = 'disk'"
				" AND what <> 'refused'"),
	    "full");
}

static void
an_agent_s_words_are_no_evidence(void **state)
{
	struct world *w = *state;

	assert_string_equal(sibling_after(w, "agent.launch", FAKE_FULL, true),
	    "ready||owns_wrapper");
	assert_string_equal(
	    world_ask(w, "SELECT reason FROM session WHERE id = '%s'", w->id),
	    "there is no room left on this host");
	assert_int_equal(fake_calls("stop"), 0);
}

static void
what_is_full_beside_the_workspace_is_no_evidence(void **state)
{
	struct world *w = *state;

	assert_string_equal(sibling_after(w, "cell_open", FAKE_FULL, true),
	    "ready||owns_wrapper");
	assert_int_equal(fake_calls("stop"), 0);
}

static void
a_permission_error_on_a_temporary_file_is_not_capacity_evidence(void **state)
{
	struct world *w = *state;

	assert_string_equal(sibling_after(w, "storage_make", FAKE_DENIED, true),
	    "ready||owns_wrapper");
	assert_int_equal(fake_calls("stop"), 0);
	assert_int_equal(fake_calls("destroy"), 0);
}

static void
neither_a_path_of_the_client_s_nor_a_full_agent_is_evidence(void **state)
{
	static const struct {
		enum fake_how how;
		enum err_code code;
	} CASES[] = {
		{ FAKE_DENIED, CODE_VALIDATION_FAILED },
		{ FAKE_FULL, CODE_INSUFFICIENT_STORAGE },
	};
	auto_json json_t *files = json_pack("[{s:s, s:s}]", "path",
	    "/etc/no space left on device", "content", "x");
	const struct session_options wish = { .isolation = ISOLATION_SHARED,
		.sleep_after_seconds = 600,
		.files = files };
	struct world *w = *state;
	char made[ID_MAX];
	enum disposition d;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SHARED);
	fake_capacity(w->conf.capacity_min_mb, 0, true);
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		fake_script("agent.write", CASES[i].how, 1);
		FAILS(session_control_create(&w->ctl, &w->who, &wish,
			  clock_ms() + WORLD_WAIT_MS, made, &d, &e),
		    CASES[i].code);
		assert_string_equal(
		    world_ask(w, "SELECT state FROM session WHERE id = '%s'",
			w->id),
		    "ready");
	}
}

static void
a_transient_df_failure_rejects_without_destroying(void **state)
{
	struct world *w = *state;

	assert_string_equal(sibling_after(w, "capacity", FAKE_FAIL, true),
	    "ready||owns_wrapper");
	assert_int_equal(fake_calls("stop"), 0);
	assert_string_equal(
	    world_ask(w, "SELECT state FROM session WHERE id = '%s'", w->id),
	    "deleted");
	world_ready(w, ISOLATION_SHARED); /* the next create is admitted */
}

static void
an_unmeasurable_capacity_is_no_evidence_whatever_it_says(void **state)
{
	struct world *w = *state;

	assert_string_equal(sibling_after(w, "capacity", FAKE_FULL, true),
	    "ready||owns_wrapper");
	assert_int_equal(fake_calls("stop"), 0);
}

static void
a_rejected_admission_destroys_nothing(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };
	char sibling[ID_MAX];

	world_ready(w, ISOLATION_SHARED);
	str_copy(sibling, sizeof(sibling), w->id);
	fake_capacity(0, 0, true);
	FAILS(world_create(w, ISOLATION_SHARED, &e), CODE_INSUFFICIENT_STORAGE);
	assert_int_equal(fake_calls("stop"), 0);
	assert_string_equal(
	    world_ask(w, "SELECT state FROM session WHERE id = '%s'", sibling),
	    "ready");
}

/* wait: the launch that hangs is reached in 0.05 s, and then takes the rest */
enum { HANG_MS = 500, HASTE_MS = 100 };

/* Makes one probe fail and moves its time into the past by `ago`. */
static void
probe_fails_within(struct world *w, int64_t ms, const char *ago)
{
	struct err e = { 0 };

	fake_script("agent.launch", FAKE_HANG, 1);
	assert_int_equal(
	    start_session(&w->ctl, w->id, "acme", clock_ms() + ms, &e), -1);
	assert_code(e.code, CODE_TIMED_OUT);
	if (ago[0] != '\0')
		world_ask(w,
		    "UPDATE sandbox SET probe_failed_at = clock_timestamp() -"
		    " interval '%s' WHERE id = '%s'",
		    ago, w->box);
}

static void
probe_fails(struct world *w, const char *ago)
{
	/* wait: as long as a silence must be, and never less */
	probe_fails_within(w, LAUNCH_FAIR_MS + HANG_MS, ago);
}

static void
who_does_not_wait_has_no_evidence(void **state)
{
	struct world *w = *state;
	char id[ID_MAX], box[SANDBOX_ID_MAX];
	struct err e = { 0 };

	world_ready(w, ISOLATION_SHARED);
	str_copy(id, sizeof(id), w->id);
	str_copy(box, sizeof(box), w->box);
	SUCCEEDS(session_control_sleep(&w->ctl, w->id, "acme", "user-interrupt",
	    -1, &e));
	world_ready(w, ISOLATION_SESSION); /* another sandbox that works */
	str_copy(w->id, sizeof(w->id), id);
	str_copy(w->box, sizeof(w->box), box);
	for (int i = 0; i < 3; i++)
		probe_fails_within(w, HASTE_MS, "1 minute");
	assert_int_equal(fake_calls("stop"), 0);
	SUCCEEDS(world_resume(w, &e));
}

static void
probed_in_vain_twice_is_evidence_if_others_can(void **state)
{
	struct world *w = *state;
	char id[ID_MAX], box[SANDBOX_ID_MAX];
	struct err e = { 0 };

	world_ready(w, ISOLATION_SHARED);
	SUCCEEDS(session_control_sleep(&w->ctl, w->id, "acme", "user-interrupt",
	    -1, &e));
	probe_fails(w, "1 minute");
	probe_fails(w, ""); /* twice, but no other sandbox was seen to work */
	assert_int_equal(fake_calls("stop"), 0);
	str_copy(id, sizeof(id), w->id);
	str_copy(box, sizeof(box), w->box);
	world_ready(w, ISOLATION_SESSION);
	str_copy(w->id, sizeof(w->id), id);
	str_copy(w->box, sizeof(w->box), box);
	probe_fails(w, "");
	assert_int_equal(fake_calls("stop"), 1);
	assert_string_equal(world_ask(w,
				"SELECT state, reason FROM session"
				" WHERE id = '%s'",
				id),
	    "asleep|sandbox_destroyed");
	SUCCEEDS(world_resume(w, &e)); /* a new incarnation */
	assert_string_equal(world_ask(w,
				"SELECT probe_failures FROM sandbox"
				" WHERE id = '%s'",
				box),
	    "0");
}

static void
probed_in_vain_twice_within_30_seconds_is_none(void **state)
{
	struct world *w = *state;
	char id[ID_MAX], box[SANDBOX_ID_MAX];
	struct err e = { 0 };

	world_ready(w, ISOLATION_SHARED);
	str_copy(id, sizeof(id), w->id);
	str_copy(box, sizeof(box), w->box);
	SUCCEEDS(session_control_sleep(&w->ctl, w->id, "acme", "user-interrupt",
	    -1, &e));
	probe_fails(w, "");
	world_ready(w, ISOLATION_SESSION);
	str_copy(w->id, sizeof(w->id), id);
	str_copy(w->box, sizeof(w->box), box);
	probe_fails(w, "");
	assert_int_equal(fake_calls("stop"), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(
		    a_full_disk_of_its_own_destroys_a_sandbox_and_says_so),
		WORLD_TEST(who_met_a_full_disk_of_its_own_has_not_failed),
		WORLD_TEST(an_engine_s_own_failure_is_evidence),
		WORLD_TEST(a_neighbour_s_full_disk_destroys_nobody_s_sandbox),
		WORLD_TEST(an_agent_s_words_are_no_evidence),
		WORLD_TEST(what_is_full_beside_the_workspace_is_no_evidence),
		WORLD_TEST(
		    a_permission_error_on_a_temporary_file_is_not_capacity_evidence),
		WORLD_TEST(
		    neither_a_path_of_the_client_s_nor_a_full_agent_is_evidence),
		WORLD_TEST(a_transient_df_failure_rejects_without_destroying),
		WORLD_TEST(
		    an_unmeasurable_capacity_is_no_evidence_whatever_it_says),
		WORLD_TEST(a_rejected_admission_destroys_nothing),
		WORLD_TEST(who_does_not_wait_has_no_evidence),
		WORLD_TEST(probed_in_vain_twice_is_evidence_if_others_can),
		WORLD_TEST(probed_in_vain_twice_within_30_seconds_is_none),
	};

	return cmocka_run_group_tests_name("evidence", tests, NULL, NULL);
}
