/* admit_world.c: tests whether a new workspace is admitted to a disk. */
#include "world.h"

#include <string.h>

#include "common/clock.h"
#include "control/capacity.h"

enum { HOUR = 3600 };

#define GHOST "aaaaaaaaaaaaaaaaaaaa"

/* A create that must be refused and leave nothing behind. */
static void
refused(struct world *w, enum isolation how)
{
	struct err e = { 0 };

	FAILS(world_create(w, how, &e), CODE_INSUFFICIENT_STORAGE);
	assert_int_equal(e.kind, ERR_NO_SPACE);
	assert_int_equal(err_status(&e), 507);
	assert_string_equal(
	    world_ask(w,
		"SELECT s.state, l.state FROM session s JOIN lease l ON"
		" l.session_id = s.id WHERE s.id = '%s'",
		w->id),
	    "deleted|none");
}

static int
create_with_key(struct world *w, struct err *e)
{
	const struct session_options wish = { .isolation = ISOLATION_SESSION,
		.sleep_after_seconds = 600,
		.idempotency_key = "key",
		.request_hash = "hash" };
	enum disposition d = SESSION_REPLAYED;
	int rc = session_control_create(&w->ctl, &w->who, &wish,
	    clock_ms() + WORLD_WAIT_MS, w->id, &d, e);

	if (rc == 0)
		assert_int_equal(d, SESSION_CREATED);
	return rc;
}

/* Moves the end of the session at hand into the past. */
static void
long_ago(struct world *w)
{
	world_ask(w,
	    "UPDATE session SET ended_at = ended_at - interval '1 hour'"
	    " WHERE id = '%s'",
	    w->id);
}

static void
is_in_trash(struct world *w, const char *box, const char *session, bool yes)
{
	const struct provider *p = &w->ctl.provider;
	struct err e = { 0 };
	bool there;

	SUCCEEDS(p->ops->storage_exists(p, box, session, &there, &e));
	assert_int_equal(there, !yes);
}

static const char *
reserved(struct world *w)
{
	return world_ask(w,
	    "SELECT coalesce(sum(disk_reserved_mb), -1) FROM"
	    " host");
}

/* ---- admission */

static void
with_room_a_create_costs_one_look(void **state)
{
	struct world *w = *state;

	world_ready(w, ISOLATION_SESSION);
	assert_int_equal(fake_calls("capacity"), 1);
	assert_int_equal(fake_calls("workspaces"), 0);
	assert_int_equal(fake_calls("sweep"), 0);
}

static void
without_room_a_create_is_refused_before_any_wrapper(void **state)
{
	struct world *w = *state;

	fake_capacity(w->conf.capacity_min_mb - 1, 0, false);
	refused(w, ISOLATION_SESSION);
	assert_int_equal(fake_calls("agent.launch"), 0);
	assert_int_equal(fake_calls("capacity"),
	    2); /* measured again, always */
	assert_string_equal(world_ask(w,
				"SELECT count(*) FROM event WHERE kind = 'disk'"
				" AND what = 'refused'"),
	    "1");
}

static void
what_exists_may_always_come_back(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SESSION);
	SUCCEEDS(session_control_sleep(&w->ctl, w->id, "acme", "user-interrupt",
	    -1, &e));
	fake_capacity(0, 0, false);
	SUCCEEDS(world_resume(w, &e));
	assert_string_equal(world_state(w), "ready owns_wrapper 2 running");
}

static void
a_workspace_that_was_never_made_is_still_a_new_one(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	fake_script("storage_make", FAKE_FAIL, 1);
	FAILS(world_create(w, ISOLATION_SESSION, &e), FAKE_CODE);
	fake_capacity(0, 0, false);
	FAILS(world_resume(w, &e), CODE_INSUFFICIENT_STORAGE);
	assert_int_equal(fake_calls("agent.launch"), 0);
	assert_string_equal(
	    world_ask(w, "SELECT state FROM session WHERE id = '%s'", w->id),
	    "failed");
}

static void
one_that_died_before_it_was_admitted_is_asked_again(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	fake_script("ensure", FAKE_LOSE, 1);
	FAILS(world_create(w, ISOLATION_SESSION, &e), CODE_TIMED_OUT);
	fake_capacity(0, 0, false);
	FAILS(world_resume(w, &e), CODE_INSUFFICIENT_STORAGE);
	assert_int_equal(fake_calls("agent.launch"), 0);
}

static void
a_start_that_is_repeated_says_what_it_did_about_the_files(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	fake_script("storage_make", FAKE_FAIL, 1);
	FAILS(world_create(w, ISOLATION_SESSION, &e), FAKE_CODE);
	SUCCEEDS(world_resume(w, &e));
	assert_string_equal(world_state(w), "ready owns_wrapper 2 running");
	assert_true(strncmp(world_steps(w), "workspace:made ", 15) == 0);
	SUCCEEDS(session_control_sleep(&w->ctl, w->id, "acme", "user-interrupt",
	    -1, &e));
	SUCCEEDS(world_resume(w, &e));
	assert_true(strncmp(world_steps(w), "workspace:kept ", 15) == 0);
}

/* Only a failed create is taken back; a session that has worked stays. */
static void
a_full_disk_deletes_nothing_that_has_worked(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SESSION);
	SUCCEEDS(session_control_sleep(&w->ctl, w->id, "acme", "user-interrupt",
	    -1, &e));
	fake_script("storage_make", FAKE_FULL, 1);
	FAILS(world_resume(w, &e), CODE_INSUFFICIENT_STORAGE);
	assert_string_equal(world_ask(w, "SELECT state FROM session"),
	    "failed");
	is_in_trash(w, w->box, w->id, false);
	SUCCEEDS(world_resume(w, &e));
}

static void
somebody_is_told(void *arg)
{
	world_ask(arg, "UPDATE session SET told = true");
}

static void
a_create_that_somebody_knows_of_is_not_taken_back(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	fake_capacity(0, 0, false);
	fake_meanwhile("capacity", somebody_is_told, w);
	FAILS(world_create(w, ISOLATION_SESSION, &e),
	    CODE_INSUFFICIENT_STORAGE);
	assert_string_equal(world_ask(w,
				"SELECT s.state, l.state FROM session s,"
				" lease l"),
	    "failed|none");
}

static void
a_refused_create_releases_its_idempotency_key(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	fake_capacity(0, 0, false);
	FAILS(create_with_key(w, &e), CODE_INSUFFICIENT_STORAGE);
	assert_string_equal(world_ask(w, "SELECT count(*) FROM idempotency"),
	    "0");
	fake_capacity(w->conf.capacity_min_mb, 0, false);
	SUCCEEDS(create_with_key(w, &e));
}

static void
a_stale_workspace_is_removed_and_the_create_admitted(void **state)
{
	struct world *w = *state;

	world_ready(w, ISOLATION_SHARED);
	fake_workspace(w->box, GHOST, HOUR);
	fake_capacity(w->conf.capacity_min_mb - 1, 10, false);
	world_ready(w, ISOLATION_SHARED);
	is_in_trash(w, w->box, GHOST, true);
	assert_int_equal(fake_calls("storage_drop"), 1);
	assert_int_equal(fake_calls("sweep"), 1);
}

static void
it_is_cleaned_and_still_refused(void **state)
{
	struct world *w = *state;

	world_ready(w, ISOLATION_SHARED);
	fake_workspace(w->box, GHOST, HOUR);
	fake_capacity(w->conf.capacity_min_mb - 100, 10, false);
	refused(w, ISOLATION_SHARED);
	is_in_trash(w, w->box, GHOST, true);
}

static void
a_young_or_ageless_workspace_stays(void **state)
{
	struct world *w = *state;

	world_ready(w, ISOLATION_SHARED);
	fake_workspace(w->box, GHOST, 20 * 60 - 1);
	fake_capacity(0, 0, false);
	refused(w, ISOLATION_SHARED);
	is_in_trash(w, w->box, GHOST, false);
	fake_workspace(w->box, GHOST, -1);
	refused(w, ISOLATION_SHARED);
	is_in_trash(w, w->box, GHOST, false);
}

static void
a_live_sibling_and_one_that_sleeps_keep_their_files(void **state)
{
	struct world *w = *state;
	char live[ID_MAX], asleep[ID_MAX], box[SANDBOX_ID_MAX];
	struct err e = { 0 };

	world_ready(w, ISOLATION_SHARED);
	str_copy(live, sizeof(live), w->id);
	world_ready(w, ISOLATION_SHARED);
	str_copy(asleep, sizeof(asleep), w->id);
	str_copy(box, sizeof(box), w->box);
	SUCCEEDS(session_control_sleep(&w->ctl, w->id, "acme", "user-interrupt",
	    -1, &e));
	long_ago(w);
	fake_workspace(box, live, HOUR);
	fake_workspace(box, asleep, HOUR);
	/* the session of a process counts as in use, also without a row */
	fake_workspace(box, GHOST, HOUR);
	fake_cell_add(box, GHOST, "somebody", 1);
	fake_capacity(0, 0, false);
	refused(w, ISOLATION_SHARED);
	is_in_trash(w, box, live, false);
	is_in_trash(w, box, asleep, false);
	is_in_trash(w, box, GHOST, false);
}

static void
when_processes_cannot_be_listed_nothing_is_removed(void **state)
{
	struct world *w = *state;

	world_ready(w, ISOLATION_SHARED);
	fake_workspace(w->box, GHOST, HOUR);
	fake_capacity(0, 0, false);
	fake_script("agent.list", FAKE_FAIL, 1);
	refused(w, ISOLATION_SHARED);
	fake_script("inspect", FAKE_UNKNOWN, 1);
	refused(w, ISOLATION_SHARED);
	fake_script("cell_gone", FAKE_FAIL, 1);
	refused(w, ISOLATION_SHARED);
	is_in_trash(w, w->box, GHOST, false);
}

static void
a_clean_up_ends_with_the_time_of_who_waits_for_it(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SHARED);
	fake_workspace(w->box, GHOST, HOUR);
	fake_workspace(w->box, "bbbbbbbbbbbbbbbbbbbb", HOUR);
	fake_capacity(0, 0, false);
	fake_script("agent.list", FAKE_HANG, 2);
	/* wait: the first hang takes all the time; less means fewer calls */
	FAILS(capacity_admit(&w->ctl, w->box, w->id, clock_ms() + 500, &e),
	    CODE_INSUFFICIENT_STORAGE);
	assert_true(fake_calls("agent.list") < 2);
}

static void
one_that_cannot_be_removed_is_skipped(void **state)
{
	struct world *w = *state;

	world_ready(w, ISOLATION_SHARED);
	fake_workspace(w->box, GHOST, HOUR);
	fake_workspace(w->box, "bbbbbbbbbbbbbbbbbbbb", HOUR);
	fake_capacity(w->conf.capacity_min_mb - 1, 10, false);
	fake_script("storage_drop", FAKE_FAIL, 1);
	world_ready(w, ISOLATION_SHARED);
	assert_int_equal(fake_calls("storage_drop"), 2);
}

static void
a_start_that_never_worked_is_stale_in_time(void **state)
{
	struct world *w = *state;
	char failed[ID_MAX], box[SANDBOX_ID_MAX];
	struct err e = { 0 };

	fake_script("agent.launch", FAKE_FAIL, 1);
	FAILS(world_create(w, ISOLATION_SESSION, &e), CODE_LAUNCH_FAILED);
	str_copy(failed, sizeof(failed), w->id);
	str_copy(box, sizeof(box), w->box);
	fake_capacity(w->conf.capacity_min_mb - 1, 10, false);
	refused(w, ISOLATION_SESSION); /* the failed session is too young */
	is_in_trash(w, box, failed, false);
	str_copy(w->id, sizeof(w->id), failed);
	long_ago(w);
	world_ready(w, ISOLATION_SESSION);
	is_in_trash(w, box, failed, true);
	assert_string_equal(world_ask(w,
				"SELECT state, reason FROM session"
				" WHERE id = '%s'",
				failed),
	    "lost|storage_reclaimed");
}

static void
somebody_resumes_it(void *arg)
{
	struct world *w = arg;

	world_ask(w,
	    "UPDATE session SET state = 'initializing', ended_at = NULL"
	    " WHERE state = 'failed'");
}

static void
what_is_resumed_meanwhile_keeps_its_files(void **state)
{
	struct world *w = *state;
	char failed[ID_MAX], box[SANDBOX_ID_MAX];
	struct err e = { 0 };

	fake_script("agent.launch", FAKE_FAIL, 1);
	FAILS(world_create(w, ISOLATION_SESSION, &e), CODE_LAUNCH_FAILED);
	str_copy(failed, sizeof(failed), w->id);
	str_copy(box, sizeof(box), w->box);
	long_ago(w);
	fake_capacity(0, 0, false);
	fake_meanwhile("cell_gone", somebody_resumes_it, w);
	refused(w, ISOLATION_SESSION);
	is_in_trash(w, box, failed, false);
}

/* The kernel's count keeps the workspace, also when init lists no process. */
static void
a_workspace_with_processes_stays(void **state)
{
	struct world *w = *state;

	world_ready(w, ISOLATION_SHARED);
	fake_workspace(w->box, GHOST, HOUR);
	fake_capacity(0, 0, false);
	fake_script("cell_gone", FAKE_LIE, 1);
	refused(w, ISOLATION_SHARED);
	is_in_trash(w, w->box, GHOST, false);
	/* and so does init's list, also when the kernel counts no process */
	fake_cell_add(w->box, GHOST, "ghost", 1);
	fake_script("cell_gone", FAKE_LIE, 1);
	refused(w, ISOLATION_SHARED);
	is_in_trash(w, w->box, GHOST, false);
}

static void
what_was_given_up_goes_with_the_next_pass(void **state)
{
	struct world *w = *state;
	char failed[ID_MAX], box[SANDBOX_ID_MAX];
	struct err e = { 0 };

	w->conf.disk_budget_mb = 8192;
	fake_script("agent.launch", FAKE_FAIL, 1);
	FAILS(world_create(w, ISOLATION_SESSION, &e), CODE_LAUNCH_FAILED);
	str_copy(failed, sizeof(failed), w->id);
	str_copy(box, sizeof(box), w->box);
	long_ago(w);
	fake_capacity(0, 0, false);
	fake_script("storage_drop", FAKE_FAIL, 1);
	refused(w, ISOLATION_SESSION);
	is_in_trash(w, box, failed, false);
	assert_string_equal(reserved(w), "0");
	world_reap(w);
	is_in_trash(w, box, failed, true);
}

static void
a_failed_session_that_once_worked_keeps_its_files(void **state)
{
	struct world *w = *state;
	char failed[ID_MAX], box[SANDBOX_ID_MAX];
	struct err e = { 0 };

	world_ready(w, ISOLATION_SESSION);
	str_copy(failed, sizeof(failed), w->id);
	str_copy(box, sizeof(box), w->box);
	SUCCEEDS(session_control_sleep(&w->ctl, w->id, "acme", "user-interrupt",
	    -1, &e));
	fake_script("agent.launch", FAKE_FAIL, 1);
	FAILS(world_resume(w, &e), CODE_LAUNCH_FAILED);
	long_ago(w);
	fake_capacity(0, 0, false);
	refused(w, ISOLATION_SESSION);
	is_in_trash(w, box, failed, false);
}

static void
another_owner_s_leftovers_are_not_touched(void **state)
{
	struct world *w = *state;
	char failed[ID_MAX], box[SANDBOX_ID_MAX];
	struct err e = { 0 };

	fake_script("agent.launch", FAKE_FAIL, 1);
	FAILS(world_create(w, ISOLATION_SESSION, &e), CODE_LAUNCH_FAILED);
	str_copy(failed, sizeof(failed), w->id);
	str_copy(box, sizeof(box), w->box);
	long_ago(w);
	str_copy(w->who.user, sizeof(w->who.user), "other");
	fake_capacity(0, 0, false);
	refused(w, ISOLATION_SESSION);
	is_in_trash(w, box, failed, false);
}

/* ---- reservation */

static void
the_budget_is_never_overdrawn(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };
	bool gone;

	w->conf.disk_budget_mb = 2 * 4096 + 4095;
	world_ready(w, ISOLATION_SESSION);
	world_ready(w, ISOLATION_SESSION);
	assert_string_equal(reserved(w), "8192");
	FAILS(create_with_key(w, &e), CODE_INSUFFICIENT_STORAGE);
	assert_string_equal(world_ask(w,
				"SELECT (SELECT count(*) FROM session),"
				" (SELECT count(*) FROM idempotency)"),
	    "2|0");
	assert_string_equal(reserved(w), "8192");
	str_copy(w->id, sizeof(w->id),
	    world_ask(w, "SELECT min(id) FROM session"));
	SUCCEEDS(session_control_delete(&w->ctl, w->id, "acme", &gone, &e));
	assert_true(gone);
	assert_string_equal(reserved(w), "4096");
	world_ready(w, ISOLATION_SESSION);
}

static void
a_shared_sandbox_is_reserved_once(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };
	char first[ID_MAX];
	bool gone;

	w->conf.disk_budget_mb = 8192;
	world_ready(w, ISOLATION_SHARED);
	str_copy(first, sizeof(first), w->id);
	world_ready(w, ISOLATION_SHARED);
	assert_string_equal(reserved(w), "8192");
	SUCCEEDS(session_control_delete(&w->ctl, first, "acme", &gone, &e));
	assert_string_equal(reserved(w), "8192");
	SUCCEEDS(session_control_delete(&w->ctl, w->id, "acme", &gone, &e));
	assert_string_equal(reserved(w), "0");
	world_ready(w, ISOLATION_SHARED);
	assert_string_equal(reserved(w), "8192");
}

static void
a_refused_create_gives_its_reservation_back(void **state)
{
	struct world *w = *state;

	w->conf.disk_budget_mb = 8192;
	fake_capacity(0, 0, false);
	refused(w, ISOLATION_SESSION);
	assert_string_equal(reserved(w), "0");
}

static void
a_budget_that_comes_later_counts_what_is_there(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	world_ready(w, ISOLATION_SESSION);
	world_ready(w, ISOLATION_SESSION);
	assert_string_equal(reserved(w), "-1"); /* no pass has counted yet */
	SUCCEEDS(STORE_RUN(w->ctl.store, STMT_DISK_RECOUNT, NULL, &e,
	    w->conf.host_name));
	assert_string_equal(reserved(w), "8192");
	w->conf.disk_budget_mb = 8192;
	FAILS(STORE_RUN(w->ctl.store, STMT_DISK_RECOUNT, NULL, &e,
		  w->conf.host_name) < 0 ||
		    world_create(w, ISOLATION_SESSION, &e) < 0
		? -1
		: 0,
	    CODE_INSUFFICIENT_STORAGE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(with_room_a_create_costs_one_look),
		WORLD_TEST(without_room_a_create_is_refused_before_any_wrapper),
		WORLD_TEST(what_exists_may_always_come_back),
		WORLD_TEST(a_workspace_that_was_never_made_is_still_a_new_one),
		WORLD_TEST(one_that_died_before_it_was_admitted_is_asked_again),
		WORLD_TEST(
		    a_start_that_is_repeated_says_what_it_did_about_the_files),
		WORLD_TEST(a_full_disk_deletes_nothing_that_has_worked),
		WORLD_TEST(a_create_that_somebody_knows_of_is_not_taken_back),
		WORLD_TEST(a_refused_create_releases_its_idempotency_key),
		WORLD_TEST(
		    a_stale_workspace_is_removed_and_the_create_admitted),
		WORLD_TEST(it_is_cleaned_and_still_refused),
		WORLD_TEST(a_young_or_ageless_workspace_stays),
		WORLD_TEST(a_live_sibling_and_one_that_sleeps_keep_their_files),
		WORLD_TEST(when_processes_cannot_be_listed_nothing_is_removed),
		WORLD_TEST(a_clean_up_ends_with_the_time_of_who_waits_for_it),
		WORLD_TEST(one_that_cannot_be_removed_is_skipped),
		WORLD_TEST(a_start_that_never_worked_is_stale_in_time),
		WORLD_TEST(what_is_resumed_meanwhile_keeps_its_files),
		WORLD_TEST(a_workspace_with_processes_stays),
		WORLD_TEST(what_was_given_up_goes_with_the_next_pass),
		WORLD_TEST(a_failed_session_that_once_worked_keeps_its_files),
		WORLD_TEST(another_owner_s_leftovers_are_not_touched),
		WORLD_TEST(the_budget_is_never_overdrawn),
		WORLD_TEST(a_shared_sandbox_is_reserved_once),
		WORLD_TEST(a_refused_create_gives_its_reservation_back),
		WORLD_TEST(a_budget_that_comes_later_counts_what_is_there),
	};

	return cmocka_run_group_tests_name("admit", tests, NULL, NULL);
}
