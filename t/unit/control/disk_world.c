/* disk_world.c: a disk that is full, and who pays for it. */
#include "world.h"

#include "common/clock.h"
#include "control/disk.h"
#include "control/start.h"

enum { MB = 1024 * 1024, LOW_MB = 100 };

/* ---- evidence */

/* A shared sandbox with a sibling in it, and a start that goes wrong. */
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
	assert_string_equal(world_ask(w,
				"SELECT count(*) FROM event WHERE"
				" kind = 'disk'"
				" AND what = 'sandbox_destroyed'"
				" AND detail->>'error' LIKE '%%No space%%'"),
	    "1");
	/* the create was refused, and left nothing */
	assert_string_equal(
	    world_ask(w, "SELECT state FROM session WHERE id = '%s'", w->id),
	    "deleted");
}

/* init, or the wrapper, met it: only its words come over. */
static void
a_full_disk_inside_is_told_by_its_words(void **state)
{
	struct world *w = *state;

	assert_string_equal(sibling_after(w, "agent.launch", FAKE_FULL, true),
	    "asleep|sandbox_destroyed|none");
	assert_string_equal(sibling_after(w, "agent.launch", FAKE_FULL, false),
	    "ready||owns_wrapper");
	assert_int_equal(fake_calls("stop"), 1);
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
a_permission_error_on_a_temporary_file_is_not_capacity_evidence(void **state)
{
	struct world *w = *state;

	assert_string_equal(sibling_after(w, "storage_make", FAKE_DENIED, true),
	    "ready||owns_wrapper");
	assert_int_equal(fake_calls("stop"), 0);
	assert_int_equal(fake_calls("destroy"), 0);
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
	world_ready(w, ISOLATION_SHARED); /* the next one is admitted */
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
	FAILS(world_create(w, ISOLATION_SHARED, &e), "insufficient_storage");
	assert_int_equal(fake_calls("stop"), 0);
	assert_string_equal(
	    world_ask(w, "SELECT state FROM session WHERE id = '%s'", sibling),
	    "ready");
}

/* The first failure to probe, as long ago as it must be. */
static void
probe_fails(struct world *w, const char *ago)
{
	struct err e = { 0 };

	fake_script("agent.launch", FAKE_HANG, 1);
	assert_int_equal(
	    start_session(&w->ctl, w->id, "acme", clock_ms() + 500, &e), -1);
	assert_string_equal(e.code, "timed_out");
	if (ago[0] != '\0')
		world_ask(w,
		    "UPDATE sandbox SET probe_failed_at = clock_timestamp() -"
		    " interval '%s' WHERE id = '%s'",
		    ago, w->box);
}

static void
probed_in_vain_twice_is_evidence_if_others_can(void **state)
{
	struct world *w = *state;
	char id[ID_MAX], box[SANDBOX_ID_MAX];
	struct err e = { 0 };

	world_ready(w, ISOLATION_SHARED);
	SUCCEEDS(session_control_sleep(&w->ctl, w->id, "acme", "user-interrupt",
	    &e));
	probe_fails(w, "1 minute");
	probe_fails(w, ""); /* twice, but nobody else was seen to work */
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
	    &e));
	probe_fails(w, "");
	world_ready(w, ISOLATION_SESSION);
	str_copy(w->id, sizeof(w->id), id);
	str_copy(w->box, sizeof(w->box), box);
	probe_fails(w, "");
	assert_int_equal(fake_calls("stop"), 0);
}

/* ---- the low-water mark */

static void
two_sessions(struct world *w, char writer[ID_MAX], char other[ID_MAX])
{
	w->conf.disk_low_mb = LOW_MB;
	w->conf.ballast_mb = 10;
	world_ready(w, ISOLATION_SESSION);
	str_copy(writer, ID_MAX, w->id);
	world_ready(w, ISOLATION_SESSION);
	str_copy(other, ID_MAX, w->id);
	fake_usage(writer, 50L * MB, 20L * MB);
	fake_usage(other, 500L * MB, 0);
}

static const char *
reason(struct world *w, const char *id)
{
	return world_ask(w,
	    "SELECT state, coalesce(reason, '') FROM session WHERE id = '%s'",
	    id);
}

static void
the_heaviest_writer_is_frozen_the_other_goes_on_and_it_is_let_go(void **state)
{
	struct world *w = *state;
	char writer[ID_MAX], other[ID_MAX];
	struct err e = { 0 };

	two_sessions(w, writer, other);
	assert_true(disk_wants_guard(&w->ctl)); /* there is no ballast yet */
	SUCCEEDS(disk_guard(&w->ctl, &e));
	assert_false(disk_wants_guard(&w->ctl));
	fake_capacity(LOW_MB - 1, 0, false);
	assert_true(disk_wants_guard(&w->ctl));
	SUCCEEDS(disk_guard(&w->ctl, &e));
	assert_true(fake_is_frozen(writer));
	assert_false(fake_is_frozen(other));
	assert_string_equal(reason(w, writer), "ready|disk_low");
	assert_string_equal(reason(w, other), "ready|");
	SUCCEEDS(disk_guard(&w->ctl, &e));
	assert_false(fake_is_frozen(other));
	/* a little above the mark is not enough */
	fake_capacity(LOW_MB + 1, 0, false);
	SUCCEEDS(disk_guard(&w->ctl, &e));
	assert_true(fake_is_frozen(writer));
	fake_capacity(2 * LOW_MB, 0, false);
	assert_true(disk_wants_guard(&w->ctl));
	SUCCEEDS(disk_guard(&w->ctl, &e));
	assert_false(fake_is_frozen(writer));
	assert_string_equal(reason(w, writer), "ready|");
	assert_string_equal(
	    world_ask(w,
		"SELECT what FROM event WHERE kind = 'disk' ORDER BY id"),
	    "frozen thawed");
}

static void
below_the_mark_nothing_is_admitted(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	w->conf.disk_low_mb = LOW_MB;
	w->conf.capacity_min_mb = 0;
	fake_capacity(LOW_MB - 1, 0, false);
	FAILS(world_create(w, ISOLATION_SESSION, &e), "insufficient_storage");
}

static void
what_freezes_does_not_need_the_database(void **state)
{
	struct world *w = *state;
	static const struct store_options OPTIONS = { "nowhere", 1000 };
	struct store *real = w->ctl.store;
	char writer[ID_MAX], other[ID_MAX];
	struct err e = { 0 };

	two_sessions(w, writer, other);
	fake_capacity(LOW_MB - 1, 0, false);
	w->ctl.store = store_new("host=/nonexistent dbname=x", &OPTIONS);
	FAILS(disk_guard(&w->ctl, &e), "database_unavailable");
	assert_true(fake_is_frozen(writer));
	store_free(w->ctl.store);
	w->ctl.store = real;
	assert_string_equal(reason(w, writer), "ready|");
	SUCCEEDS(disk_tell(&w->ctl, &e)); /* the next pass */
	assert_string_equal(reason(w, writer), "ready|disk_low");
}

static void
the_ballast_is_given_up_and_made_again(void **state)
{
	struct world *w = *state;
	const struct provider *p = &w->ctl.provider;
	struct err e = { 0 };

	w->conf.disk_low_mb = LOW_MB;
	w->conf.ballast_mb = 10;
	SUCCEEDS(disk_guard(&w->ctl, &e));
	assert_int_equal(p->ops->ballast_size(p), 10 * MB);
	fake_capacity(LOW_MB / 4, 0, false);
	SUCCEEDS(disk_guard(&w->ctl, &e));
	assert_int_equal(p->ops->ballast_size(p), 10 * MB);
	fake_capacity(LOW_MB / 4 - 1, 0, false);
	SUCCEEDS(disk_guard(&w->ctl, &e));
	assert_int_equal(p->ops->ballast_size(p), 0);
	fake_capacity(LOW_MB + LOW_MB / 4 + 9, 0, false);
	SUCCEEDS(disk_guard(&w->ctl, &e));
	assert_int_equal(p->ops->ballast_size(p), 0);
	fake_capacity(LOW_MB + LOW_MB / 4 + 10, 0, false);
	SUCCEEDS(disk_guard(&w->ctl, &e));
	assert_int_equal(p->ops->ballast_size(p), 10 * MB);
}

static void
a_session_that_is_frozen_can_be_deleted(void **state)
{
	struct world *w = *state;
	char writer[ID_MAX], other[ID_MAX];
	struct err e = { 0 };
	bool gone;

	two_sessions(w, writer, other);
	fake_capacity(LOW_MB - 1, 0, false);
	SUCCEEDS(disk_guard(&w->ctl, &e));
	assert_true(fake_is_frozen(writer));
	SUCCEEDS(session_control_delete(&w->ctl, writer, "acme", &gone, &e));
	assert_true(gone);
	assert_false(fake_is_frozen(writer));
}

/* ---- accounting */

static void
measured_long_ago(struct world *w)
{
	world_ask(w,
	    "UPDATE session SET created_at = created_at -"
	    " interval '1 hour', disk_measured_at ="
	    " disk_measured_at - interval '1 hour'");
}

static void
a_session_over_its_limit_is_told_then_put_to_sleep(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SESSION);
	fake_usage(w->id, 4097L * MB, 0);
	SUCCEEDS(disk_account(&w->ctl, clock_ms() + 10000, &e));
	assert_int_equal(fake_calls("agent.usage"), 0); /* not due yet */
	measured_long_ago(w);
	SUCCEEDS(disk_account(&w->ctl, clock_ms() + 10000, &e));
	assert_string_equal(world_ask(w,
				"SELECT state, disk_used_mb,"
				" disk_over_since IS NOT NULL FROM session"),
	    "ready|4097|t");
	measured_long_ago(w);
	SUCCEEDS(disk_account(&w->ctl, clock_ms() + 10000, &e));
	assert_string_equal(reason(w, w->id), "asleep|disk_limit");
}

static void
who_cleans_up_in_time_stays(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SESSION);
	fake_usage(w->id, 4097L * MB, 0);
	measured_long_ago(w);
	SUCCEEDS(disk_account(&w->ctl, clock_ms() + 10000, &e));
	fake_usage(w->id, 4096L * MB, 0);
	measured_long_ago(w);
	SUCCEEDS(disk_account(&w->ctl, clock_ms() + 10000, &e));
	assert_string_equal(reason(w, w->id), "ready|");
	assert_string_equal(
	    world_ask(w, "SELECT disk_over_since IS NULL FROM session"), "t");
}

static void
of_a_shared_sandbox_over_its_limit_the_largest_is_meant(void **state)
{
	struct world *w = *state;
	char small[ID_MAX];
	struct err e = { 0 };

	world_ready(w, ISOLATION_SHARED);
	str_copy(small, sizeof(small), w->id);
	world_ready(w, ISOLATION_SHARED);
	fake_usage(small, 4000L * MB, 0);
	fake_usage(w->id, 5000L * MB, 0);
	measured_long_ago(w);
	SUCCEEDS(disk_account(&w->ctl, clock_ms() + 10000, &e));
	assert_string_equal(world_ask(w,
				"SELECT id = '%s' FROM session"
				" WHERE disk_over_since IS NOT NULL",
				w->id),
	    "t");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(
		    a_full_disk_of_its_own_destroys_a_sandbox_and_says_so),
		WORLD_TEST(a_full_disk_inside_is_told_by_its_words),
		WORLD_TEST(an_engine_s_own_failure_is_evidence),
		WORLD_TEST(a_neighbour_s_full_disk_destroys_nobody_s_sandbox),
		WORLD_TEST(
		    a_permission_error_on_a_temporary_file_is_not_capacity_evidence),
		WORLD_TEST(a_transient_df_failure_rejects_without_destroying),
		WORLD_TEST(
		    an_unmeasurable_capacity_is_no_evidence_whatever_it_says),
		WORLD_TEST(a_rejected_admission_destroys_nothing),
		WORLD_TEST(probed_in_vain_twice_is_evidence_if_others_can),
		WORLD_TEST(probed_in_vain_twice_within_30_seconds_is_none),
		WORLD_TEST(
		    the_heaviest_writer_is_frozen_the_other_goes_on_and_it_is_let_go),
		WORLD_TEST(below_the_mark_nothing_is_admitted),
		WORLD_TEST(what_freezes_does_not_need_the_database),
		WORLD_TEST(the_ballast_is_given_up_and_made_again),
		WORLD_TEST(a_session_that_is_frozen_can_be_deleted),
		WORLD_TEST(a_session_over_its_limit_is_told_then_put_to_sleep),
		WORLD_TEST(who_cleans_up_in_time_stays),
		WORLD_TEST(
		    of_a_shared_sandbox_over_its_limit_the_largest_is_meant),
	};

	return cmocka_run_group_tests_name("disk", tests, NULL, NULL);
}
