/* snapshot_world.c: tests snapshots, in the order of their effects. */
#include "world.h"

#include "common/clock.h"
#include "control/snapshot_control.h"

static const char ROW[] = "SELECT state, size_bytes, files, coalesce(error, '')"
			  " FROM snapshot";

static int
take(struct world *w, char id[ID_MAX], struct err *e)
{
	return snapshot_create(&w->ctl, w->id, "acme", "a name",
	    clock_ms() + WORLD_WAIT_MS, id, e);
}

/* Takes a snapshot of a new session; FAKE_LOSE: it is still under way. */
static void
take_of_new(struct world *w, enum fake_how how, char id[ID_MAX])
{
	struct err e = { 0 };

	world_ready(w, ISOLATION_SHARED);
	fake_script("snapshot_take", how, 1);
	SUCCEEDS(take(w, id, &e));
}

static void
assert_state(struct world *w, const char *want)
{
	assert_string_equal(world_ask(w, "SELECT state FROM snapshot"), want);
}

static void
assert_none_left(struct world *w)
{
	assert_string_equal(world_ask(w, "SELECT count(*) FROM snapshot"), "0");
	assert_int_equal(fake_snapshots(), 0);
}

/* Makes a session from a snapshot, as world_create() makes one. */
static int
make_from(struct world *w, const char *snapshot, struct err *e)
{
	enum disposition how;

	return session_control_create(&w->ctl, &w->who,
	    &(struct session_options){ .isolation = ISOLATION_SESSION,
		.snapshot = snapshot,
		.sleep_after_seconds = 600 },
	    clock_ms() + WORLD_WAIT_MS, w->id, &how, e);
}

static void
a_row_then_files_then_the_row(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };
	char id[ID_MAX];

	take_of_new(w, FAKE_WORK, id);
	assert_string_equal(world_ask(w, "%s", ROW), "ready|1048576|3|");
	assert_int_equal(fake_calls("snapshot_take"), 1);
	assert_int_equal(fake_snapshots(), 1);
	SUCCEEDS(snapshot_delete(&w->ctl, "", "acme", id, &e));
	assert_none_left(w);
	FAILS(snapshot_delete(&w->ctl, "", "acme", id, &e),
	    CODE_SNAPSHOT_NOT_FOUND);
}

static void
what_fails_leaves_a_row_that_says_why_and_no_files(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };
	char id[ID_MAX];

	world_ready(w, ISOLATION_SHARED);
	fake_script("snapshot_take", FAKE_FULL, 1);
	FAILS(take(w, id, &e), CODE_NO_SPACE_LEFT);
	assert_string_equal(world_ask(w,
				"SELECT state, size_bytes, error <> ''"
				" FROM snapshot"),
	    "failed|0|t");
	assert_int_equal(fake_snapshots(), 0);
}

/* The size is limited, because the content of a sandbox can claim any size. */
static void
one_is_no_larger_than_its_sandbox_may_be(void **state)
{
	struct world *w = *state;
	char id[ID_MAX];

	take_of_new(w, FAKE_LOSE, id);
	assert_string_equal(
	    world_ask(w,
		"SELECT c.disk_mb > 0, s.size_bytes <= c.disk_mb::bigint << 20"
		" FROM snapshot s, sandbox b JOIN class c ON c.name = b.class"),
	    "t|t");
}

static void
without_room_nothing_is_begun(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };
	char id[ID_MAX];

	world_ready(w, ISOLATION_SHARED);
	fake_capacity(w->conf.disk_low_mb, 0, false);
	FAILS(take(w, id, &e), CODE_INSUFFICIENT_STORAGE);
	assert_string_equal(world_ask(w, "SELECT count(*) FROM snapshot"), "0");
	assert_int_equal(fake_calls("snapshot_take"), 0);
}

static void
one_that_goes_on_is_settled_by_who_comes_by(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };
	char id[ID_MAX];

	take_of_new(w, FAKE_LOSE, id);
	SUCCEEDS(snapshot_settle(&w->ctl, "acme", id, true, &e));
	assert_state(w, "creating");
	fake_snapshot_be(id, SNAPSHOT_WHOLE);
	world_reap(w);
	assert_string_equal(world_ask(w, "%s", ROW), "ready|1048576|3|");
}

static void
one_that_broke_is_ended_by_the_reaper(void **state)
{
	struct world *w = *state;
	char id[ID_MAX];

	take_of_new(w, FAKE_LOSE, id);
	fake_snapshot_be(id, SNAPSHOT_BROKEN);
	world_reap(w);
	assert_string_equal(world_ask(w, "%s", ROW),
	    "failed|0||the fake broke it");
	assert_int_equal(fake_snapshots(), 0);
}

static void
one_that_nobody_began_has_its_time(void **state)
{
	struct world *w = *state;
	char id[ID_MAX];

	take_of_new(w, FAKE_LOSE, id);
	fake_snapshot_be(id, SNAPSHOT_ABSENT);
	world_reap(w);
	assert_state(w, "creating");
	world_ask(w,
	    "UPDATE snapshot SET deadline = clock_timestamp()"
	    " - interval '1 second'");
	world_reap(w);
	assert_state(w, "failed");
}

static void
what_is_still_written_is_removed_when_it_is_not(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };
	char id[ID_MAX];

	take_of_new(w, FAKE_LOSE, id);
	SUCCEEDS(snapshot_delete(&w->ctl, w->id, "acme", id, &e));
	world_reap(w);
	assert_state(w, "deleting");
	fake_snapshot_be(id, SNAPSHOT_WHOLE);
	world_reap(w);
	assert_none_left(w);
}

static void
a_session_of_one_gets_its_files_before_anything_runs(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };
	char id[ID_MAX];

	take_of_new(w, FAKE_WORK, id);
	fake_script("storage_from", FAKE_FULL, 1);
	FAILS(make_from(w, id, &e), CODE_INSUFFICIENT_STORAGE);
	assert_int_equal(fake_calls("ensure"), 1); /* the first session's */
	SUCCEEDS(make_from(w, id, &e));
	assert_string_equal(fake_made_of(w->id), id);
	assert_string_equal(world_steps(w),
	    "workspace:copied sandbox:started admission:admitted wrapper:launched ready:proved");
	/* from now on the session has its own files */
	SUCCEEDS(session_control_sleep(&w->ctl, w->id, "acme", "user-interrupt",
	    -1, &e));
	SUCCEEDS(world_resume(w, &e));
	assert_int_equal(fake_calls("storage_from"), 2);
}

static void
a_copy_that_takes_long_goes_on(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };
	char id[ID_MAX];

	take_of_new(w, FAKE_WORK, id);
	fake_script("storage_from", FAKE_LOSE, 1);
	FAILS(make_from(w, id, &e), CODE_TIMED_OUT);
	assert_string_equal(world_ask(w,
				"SELECT state FROM session"
				" WHERE snapshot_id IS NOT NULL"),
	    "initializing");
	/* and the snapshot stays until the copy has ended */
	SUCCEEDS(snapshot_delete(&w->ctl, "", "acme", id, &e));
	world_reap(w);
	assert_int_equal(fake_snapshots(), 1);
	SUCCEEDS(world_resume(w, &e));
	assert_string_equal(fake_made_of(w->id), id);
	world_reap(w);
	assert_int_equal(fake_snapshots(), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_row_then_files_then_the_row),
		WORLD_TEST(what_fails_leaves_a_row_that_says_why_and_no_files),
		WORLD_TEST(one_is_no_larger_than_its_sandbox_may_be),
		WORLD_TEST(without_room_nothing_is_begun),
		WORLD_TEST(one_that_goes_on_is_settled_by_who_comes_by),
		WORLD_TEST(one_that_broke_is_ended_by_the_reaper),
		WORLD_TEST(one_that_nobody_began_has_its_time),
		WORLD_TEST(what_is_still_written_is_removed_when_it_is_not),
		WORLD_TEST(
		    a_session_of_one_gets_its_files_before_anything_runs),
		WORLD_TEST(a_copy_that_takes_long_goes_on),
	};

	return cmocka_run_group_tests_name("snapshot", tests, NULL, NULL);
}
