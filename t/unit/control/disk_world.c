/* disk_world.c: tests a full disk, and which session is frozen for it. */
#include "world.h"

#include "common/clock.h"
#include "control/disk.h"

enum { MB = 1024 * 1024, LOW_MB = 100 };

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
	assert_true(disk_wants_guard(&w->ctl)); /* no ballast yet */
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
those_that_are_silent_are_waited_for_once(void **state)
{
	enum { SILENT = 12 };
	struct world *w = *state;
	char writer[ID_MAX], other[ID_MAX];
	int64_t began;
	struct err e = { 0 };

	for (int i = 0; i < SILENT; i++)
		world_ready(w, ISOLATION_SESSION);
	two_sessions(w, writer, other);
	fake_capacity(LOW_MB - 1, 0, false);
	fake_script("agent.usage", FAKE_HANG, SILENT);
	began = clock_ms();
	SUCCEEDS(disk_guard(&w->ctl, &e));
	/* wait: one by one the calls take 48 s, as one 4 s */
	assert_true(clock_ms() - began < SILENT * 4000);
}

static int
room_from_the_next_look_on(const struct provider *p, const char *id,
    struct capacity *out, struct err *e)
{
	int rc = PROVIDER_FAKE.capacity(p, id, out, e);

	fake_capacity(2 * LOW_MB, 0, false);
	return rc;
}

/* Takes ten megabytes away with every look. */
static int
space_vanishes(const struct provider *p, const char *id, struct capacity *out,
    struct err *e)
{
	int rc = PROVIDER_FAKE.capacity(p, id, out, e);

	fake_capacity((out->free_bytes >> 20) - 10, 0, false);
	return rc;
}

static void
nobody_is_frozen_once_there_is_room_again(void **state)
{
	struct world *w = *state;
	struct provider_ops ops = PROVIDER_FAKE;
	char writer[ID_MAX], other[ID_MAX];
	struct err e = { 0 };

	two_sessions(w, writer, other);
	fake_capacity(LOW_MB - 1, 0, false);
	ops.capacity = room_from_the_next_look_on;
	w->ctl.provider.ops = &ops;
	SUCCEEDS(disk_guard(&w->ctl, &e));
	w->ctl.provider.ops = &PROVIDER_FAKE;
	assert_false(fake_is_frozen(writer) || fake_is_frozen(other));
}

static void
freeze_in(struct world *w, const char *sandbox, const char *session)
{
	const struct provider *p = &w->ctl.provider;
	struct session_seen s = { .generation = 1 };
	struct err e = { 0 };

	str_copy(s.sandbox, sizeof(s.sandbox), sandbox);
	str_copy(s.session, sizeof(s.session), session);
	SUCCEEDS(p->ops->cell_freeze(p, &s, true, &e));
}

static void
freeze(struct world *w, const char *session)
{
	freeze_in(w,
	    world_ask(w, "SELECT sandbox_id FROM session WHERE id = '%s'",
		session),
	    session);
}

static void
who_is_let_go_is_told_even_if_another_cannot_be(void **state)
{
	struct world *w = *state;
	char first[ID_MAX], second[ID_MAX];
	struct err e = { 0 };

	two_sessions(w, first, second);
	freeze(w, first);
	freeze(w, second);
	SUCCEEDS(disk_tell(&w->ctl, &e));
	fake_capacity(2 * LOW_MB, 0, false);
	fake_script("cell_freeze", FAKE_FAIL, 1);
	FAILS(disk_guard(&w->ctl, &e), FAKE_CODE);
	assert_int_not_equal(fake_is_frozen(first), fake_is_frozen(second));
	assert_string_equal(reason(w, first),
	    fake_is_frozen(first) ? "ready|disk_low" : "ready|");
	assert_string_equal(reason(w, second),
	    fake_is_frozen(second) ? "ready|disk_low" : "ready|");
	SUCCEEDS(disk_guard(&w->ctl, &e));
	assert_false(fake_is_frozen(first) || fake_is_frozen(second));
}

static void
below_the_mark_nothing_is_admitted(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	w->conf.disk_low_mb = LOW_MB;
	w->conf.capacity_min_mb = 0;
	fake_capacity(LOW_MB - 1, 0, false);
	FAILS(world_create(w, ISOLATION_SESSION, &e),
	    CODE_INSUFFICIENT_STORAGE);
}

static void
who_hides_is_frozen_while_space_vanishes_unseen(void **state)
{
	struct world *w = *state;
	struct provider_ops ops = PROVIDER_FAKE;
	char thief[ID_MAX], other[ID_MAX];
	struct err e = { 0 };

	two_sessions(w, thief, other);
	fake_usage(thief, 0, 0);
	fake_measured(thief, &(struct fake_measure){ .hidden = true });
	fake_usage(other, 10L * MB, 2L * MB);
	fake_capacity(LOW_MB - 1, 0, false);
	ops.capacity = space_vanishes;
	w->ctl.provider.ops = &ops;
	SUCCEEDS(disk_guard(&w->ctl, &e));
	w->ctl.provider.ops = &PROVIDER_FAKE;
	assert_true(fake_is_frozen(thief));
	assert_false(fake_is_frozen(other));
}

static void
who_is_over_its_limit_is_frozen_before_who_writes(void **state)
{
	struct world *w = *state;
	char thief[ID_MAX], other[ID_MAX];
	struct err e = { 0 };

	two_sessions(w, other, thief);
	fake_usage(thief, 4097L * MB, 0);
	fake_measured(thief, &(struct fake_measure){ .limit_mb = 4096 });
	fake_measured(other, &(struct fake_measure){ .limit_mb = 4096 });
	fake_capacity(LOW_MB - 1, 0, false);
	SUCCEEDS(disk_guard(&w->ctl, &e));
	assert_true(fake_is_frozen(thief));
	assert_false(fake_is_frozen(other));
}

static void
where_inodes_run_out_who_makes_files_is_frozen(void **state)
{
	struct world *w = *state;
	char writer[ID_MAX], maker[ID_MAX];
	struct err e = { 0 };

	two_sessions(w, writer, maker);
	fake_measured(maker,
	    &(struct fake_measure){ .files = 10, .more_files = 500 });
	SUCCEEDS(disk_guard(&w->ctl, &e));
	assert_false(disk_wants_guard(&w->ctl));
	/* fewer than LOW_MB of 2^20 inodes; the disk has 2^20 MB */
	fake_files(LOW_MB - 1);
	assert_true(disk_wants_guard(&w->ctl));
	SUCCEEDS(disk_guard(&w->ctl, &e));
	assert_true(fake_is_frozen(maker));
	assert_false(fake_is_frozen(writer));
	assert_string_equal(reason(w, maker), "ready|disk_low");
	FAILS(world_create(w, ISOLATION_SESSION, &e),
	    CODE_INSUFFICIENT_STORAGE);
	fake_files(2 * LOW_MB);
	SUCCEEDS(disk_guard(&w->ctl, &e));
	assert_false(fake_is_frozen(maker));
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
	FAILS(disk_guard(&w->ctl, &e), CODE_DATABASE_UNAVAILABLE);
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
	SUCCEEDS(disk_account(&w->ctl, clock_ms() + WORLD_WAIT_MS, &e));
	assert_int_equal(fake_calls("agent.usage"), 0); /* not due yet */
	measured_long_ago(w);
	SUCCEEDS(disk_account(&w->ctl, clock_ms() + WORLD_WAIT_MS, &e));
	assert_string_equal(world_ask(w,
				"SELECT state, disk_used_mb,"
				" disk_over_since IS NOT NULL FROM session"),
	    "ready|4097|t");
	measured_long_ago(w);
	SUCCEEDS(disk_account(&w->ctl, clock_ms() + WORLD_WAIT_MS, &e));
	assert_string_equal(reason(w, w->id), "asleep|disk_limit");
}

static void
one_over_its_limit_that_hides_more_is_put_to_sleep_at_once(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SESSION);
	fake_usage(w->id, 4000L * MB, 0);
	fake_measured(w->id, &(struct fake_measure){ .hidden = true });
	measured_long_ago(w);
	SUCCEEDS(disk_account(&w->ctl, clock_ms() + WORLD_WAIT_MS, &e));
	assert_string_equal(reason(w, w->id), "ready|");
	fake_usage(w->id, 4097L * MB, 0);
	measured_long_ago(w);
	SUCCEEDS(disk_account(&w->ctl, clock_ms() + WORLD_WAIT_MS, &e));
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
	SUCCEEDS(disk_account(&w->ctl, clock_ms() + WORLD_WAIT_MS, &e));
	fake_usage(w->id, 4096L * MB, 0);
	measured_long_ago(w);
	SUCCEEDS(disk_account(&w->ctl, clock_ms() + WORLD_WAIT_MS, &e));
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
	SUCCEEDS(disk_account(&w->ctl, clock_ms() + WORLD_WAIT_MS, &e));
	assert_string_equal(world_ask(w,
				"SELECT id = '%s' FROM session"
				" WHERE disk_over_since IS NOT NULL",
				w->id),
	    "t");
}

static void
a_sandbox_is_believed_of_its_own_sessions_only(void **state)
{
	struct world *w = *state;
	char victim[ID_MAX], liar[ID_MAX];
	struct err e = { 0 };

	two_sessions(w, victim, liar);
	fake_cell_add(w->box, victim, "i", 1); /* in the liar's sandbox */
	fake_usage(victim, 5000L * MB, 0);
	for (int i = 0; i < 2; i++) {
		world_ask(w,
		    "UPDATE session SET created_at = 'epoch',"
		    " disk_measured_at = NULL WHERE id = '%s'",
		    liar);
		SUCCEEDS(disk_account(&w->ctl, clock_ms() + WORLD_WAIT_MS, &e));
	}
	assert_int_equal(fake_calls("agent.usage"), 2);
	assert_string_equal(world_ask(w,
				"SELECT state, disk_used_mb IS NULL"
				" FROM session WHERE id = '%s'",
				victim),
	    "ready|t");
	freeze_in(w, w->box, victim);
	SUCCEEDS(disk_tell(&w->ctl, &e));
	assert_string_equal(reason(w, victim), "ready|");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(
		    the_heaviest_writer_is_frozen_the_other_goes_on_and_it_is_let_go),
		WORLD_TEST(those_that_are_silent_are_waited_for_once),
		WORLD_TEST(nobody_is_frozen_once_there_is_room_again),
		WORLD_TEST(who_is_let_go_is_told_even_if_another_cannot_be),
		WORLD_TEST(below_the_mark_nothing_is_admitted),
		WORLD_TEST(who_hides_is_frozen_while_space_vanishes_unseen),
		WORLD_TEST(who_is_over_its_limit_is_frozen_before_who_writes),
		WORLD_TEST(where_inodes_run_out_who_makes_files_is_frozen),
		WORLD_TEST(what_freezes_does_not_need_the_database),
		WORLD_TEST(the_ballast_is_given_up_and_made_again),
		WORLD_TEST(a_session_that_is_frozen_can_be_deleted),
		WORLD_TEST(a_session_over_its_limit_is_told_then_put_to_sleep),
		WORLD_TEST(
		    one_over_its_limit_that_hides_more_is_put_to_sleep_at_once),
		WORLD_TEST(who_cleans_up_in_time_stays),
		WORLD_TEST(
		    of_a_shared_sandbox_over_its_limit_the_largest_is_meant),
		WORLD_TEST(a_sandbox_is_believed_of_its_own_sessions_only),
	};

	return cmocka_run_group_tests_name("disk", tests, NULL, NULL);
}
