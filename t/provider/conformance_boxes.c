/*
 * conformance_boxes.c: tests that sandboxes start, stop and are destroyed as
 * the provider is told, and that stale incarnations are refused.
 */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/fake/fake.h"
#include "suite.h"

#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"

static void
an_unknown_sandbox_is_absent(void **state)
{
	struct sandbox_spec s = a_sandbox();

	(void)state;
	assert_int_equal(presence(s.id), PRESENCE_ABSENT);
}

static void
ensure_twice_is_one_sandbox(void **state)
{
	struct sandbox_spec s = a_sandbox();
	struct sandbox_seen seen;
	pid_t first = 0;

	(void)state;
	ensure(&s);
	if (is_local())
		first = recorded(s.id, "init");
	ensure(&s);
	if (is_local())
		assert_int_equal(recorded(s.id, "init"), first);
	works(P.ops->inspect(&P, s.id, &seen, &E));
	assert_string_equal(seen.incarnation, s.incarnation);
	works(ping(&s, &E));
	destroy(&s);
}

static void
a_legacy_id_is_kept_as_it_is(void **state)
{
	struct sandbox_spec s = a_sandbox();
	struct sandbox_seen seen;

	(void)state;
	str_copy(s.id, sizeof(s.id), "org/../1__user \xc3\xa9");
	ensure(&s);
	works(ping(&s, &E));
	assert_true(is_listed(&P, s.id, &seen));
	assert_int_equal(seen.presence, PRESENCE_RUNNING);
	destroy(&s);
}

static void
a_late_ensure_of_an_older_start_is_refused(void **state)
{
	struct sandbox_spec old = a_sandbox(), s = after(&old);
	struct sandbox_spec older = old;

	(void)state;
	ensure(&s);
	refuses(P.ops->ensure(&P, &old, soon(), &E), CODE_STALE_INCARNATION);
	older.epoch = 1;
	refuses(P.ops->ensure(&P, &older, soon(), &E), CODE_STALE_INCARNATION);
	works(ping(&s, &E));
	destroy(&s);
}

static void
a_newer_start_replaces_what_runs(void **state)
{
	struct sandbox_spec old = a_sandbox(), s = after(&old);

	(void)state;
	ensure(&old);
	ensure(&s);
	works(ping(&s, &E));
	refuses(ping(&old, &E), CODE_NOT_LISTENING);
	refuses(P.ops->stop(&P, s.id, old.incarnation, soon(), &E),
	    CODE_STALE_INCARNATION);
	refuses(P.ops->destroy(&P, s.id, old.incarnation, soon(), &E),
	    CODE_STALE_INCARNATION);
	works(ping(&s, &E));
	destroy(&s);
}

static void
stop_keeps_the_files_and_ends_the_incarnation(void **state)
{
	struct sandbox_spec s = a_sandbox(), next = after(&s);

	(void)state;
	ensure(&s);
	for (int i = 0; i < 2; i++) {
		works(P.ops->stop(&P, s.id, s.incarnation, soon(), &E));
		assert_int_equal(presence(s.id), PRESENCE_STOPPED);
	}
	refuses(P.ops->ensure(&P, &s, soon(), &E), CODE_STALE_INCARNATION);
	ensure(&next);
	destroy(&next);
}

static void
destroy_twice_is_harmless_and_no_ensure_follows_it(void **state)
{
	struct sandbox_spec s = a_sandbox(), next = after(&s);

	(void)state;
	ensure(&s);
	destroy(&s);
	destroy(&s);
	refuses(P.ops->ensure(&P, &s, soon(), &E), CODE_STALE_INCARNATION);
	assert_int_equal(presence(s.id), PRESENCE_ABSENT);
	ensure(&next);
	destroy(&next);
}

static void
one_that_was_destroyed_and_runs_again_is_listed(void **state)
{
	struct sandbox_spec s = a_sandbox(), next = after(&s);
	struct sandbox_seen seen;

	(void)state;
	ensure(&s);
	destroy(&s);
	assert_false(is_listed(&P, s.id, &seen));
	ensure(&next);
	assert_true(is_listed(&P, s.id, &seen));
	assert_int_equal(seen.presence, PRESENCE_RUNNING);
	assert_string_equal(seen.incarnation, next.incarnation);
	destroy(&next);
}

/* Whether the sandbox stops running within the time that an end may take. */
static bool
ends_soon(const char *id)
{
	int64_t deadline = soon();

	while (presence(id) == PRESENCE_RUNNING && clock_left_ms(deadline) > 0)
		usleep(1000); /* wait: polls, the limit is SOON_MS */
	return presence(id) != PRESENCE_RUNNING;
}

static void
ends_are_begun_side_by_side_behind_the_fence(void **state)
{
	struct sandbox_spec old = a_sandbox(), s = after(&old);
	struct sandbox_spec other = a_sandbox();

	(void)state;
	if (P.ops->begin_end == NULL)
		return; /* optional */
	ensure(&old);
	ensure(&s);
	ensure(&other);
	P.ops->begin_end(&P, s.id, old.incarnation, true);
	works(ping(&s, &E));
	P.ops->begin_end(&P, s.id, s.incarnation, true);
	P.ops->begin_end(&P, other.id, other.incarnation, false);
	assert_true(ends_soon(s.id) && ends_soon(other.id));
	refuses(P.ops->ensure(&P, &s, soon(), &E), CODE_STALE_INCARNATION);
	refuses(P.ops->ensure(&P, &other, soon(), &E), CODE_STALE_INCARNATION);
	destroy(&s);
	works(P.ops->stop(&P, other.id, other.incarnation, soon(), &E));
	assert_int_equal(presence(other.id), PRESENCE_STOPPED);
	destroy(&other);
}

/* A worker was paused after its intent, and the sandbox was destroyed. */
static void
an_ensure_that_comes_after_its_own_destroy_is_refused(void **state)
{
	struct sandbox_spec s = a_sandbox();

	(void)state;
	destroy(&s);
	refuses(P.ops->ensure(&P, &s, soon(), &E), CODE_STALE_INCARNATION);
	assert_int_equal(presence(s.id), PRESENCE_ABSENT);
}

static void
a_late_destroy_does_not_touch_the_files_of_a_newer_start(void **state)
{
	struct sandbox_spec old = a_sandbox(), s = after(&old);
	bool there;

	(void)state;
	ensure(&old);
	ensure(&s);
	works(P.ops->storage_make(&P, s.id, "aaaaaaaaaaaaaaaaaaaa", &E));
	works(P.ops->stop(&P, s.id, s.incarnation, soon(), &E));
	refuses(P.ops->destroy(&P, s.id, old.incarnation, soon(), &E),
	    CODE_STALE_INCARNATION);
	works(P.ops->storage_exists(&P, s.id, "aaaaaaaaaaaaaaaaaaaa", &there,
	    &E));
	assert_true(there);
	destroy(&s);
}

static void
a_crash_is_seen_and_its_incarnation_does_not_come_back(void **state)
{
	struct sandbox_spec s = a_sandbox(), next = after(&s);

	(void)state;
	ensure(&s);
	crash(s.id);
	assert_int_equal(presence(s.id), PRESENCE_STOPPED);
	refuses(P.ops->ensure(&P, &s, soon(), &E), CODE_STALE_INCARNATION);
	ensure(&next);
	destroy(&next);
}

static void
a_list_has_what_is_ours_and_nothing_else(void **state)
{
	struct sandbox_spec s = a_sandbox();
	struct provider other = P;
	struct sandbox_seen seen;

	(void)state;
	ensure(&s);
	assert_true(is_listed(&P, s.id, &seen));
	assert_int_equal(seen.presence, PRESENCE_RUNNING);
	assert_string_equal(seen.incarnation, s.incarnation);
	assert_false(seen.unanswered);
	if (is_local()) {
		str_copy(other.installation, sizeof(other.installation), "b");
		works(other.ops->inspect(&other, s.id, &seen, &E));
		assert_int_equal(seen.presence, PRESENCE_ABSENT);
		assert_false(is_listed(&other, s.id, &seen));
		refuses(other.ops->destroy(&other, s.id, s.incarnation, soon(),
			    &E),
		    CODE_NOT_OURS);
	}
	works(P.ops->stop(&P, s.id, s.incarnation, soon(), &E));
	assert_true(is_listed(&P, s.id, &seen));
	assert_int_equal(seen.presence, PRESENCE_STOPPED);
	destroy(&s);
	assert_false(is_listed(&P, s.id, &seen));
}

/* The reaper removes directories that are listed and have no row. */
static void
another_installation_s_sessions_are_not_listed(void **state)
{
	struct sandbox_spec s = a_sandbox();
	struct provider other = P;
	struct session_seen *ours = NULL, *theirs = NULL;
	size_t count, none;

	(void)state;
	if (!is_local())
		return;
	works(P.ops->storage_make(&P, s.id, "aaaaaaaaaaaaaaaaaaaa", &E));
	str_copy(other.installation, sizeof(other.installation), "b");
	works(P.ops->storage_list(&P, &ours, &count, &E));
	works(other.ops->storage_list(&other, &theirs, &none, &E));
	free(ours);
	free(theirs);
	assert_int_equal(count, 1);
	assert_int_equal(none, 0);
	destroy(&s);
}

static void
what_cannot_be_seen_is_not_absent(void **state)
{
	struct sandbox_spec s = a_sandbox();
	auto_free char *boxes = xasprintf("%s/box", CONF.state_dir);
	struct sandbox_seen seen, *all = NULL;
	size_t count;
	int rc;

	(void)state;
	ensure(&s);
	if (is_local()) {
		assert_int_equal(chmod(boxes, 0), 0);
	} else {
		fake_script("inspect", FAKE_UNKNOWN, 1);
		fake_script("list", FAKE_FAIL, 1);
	}
	rc = P.ops->inspect(&P, s.id, &seen, &E);
	assert_true(rc < 0 || seen.presence == PRESENCE_UNKNOWN);
	assert_int_equal(P.ops->list(&P, &all, &count, &E), -1);
	if (is_local())
		assert_int_equal(chmod(boxes, 0700), 0);
	destroy(&s);
}

const struct CMUnitTest SUITE_BOXES[] = {
	cmocka_unit_test(an_unknown_sandbox_is_absent),
	cmocka_unit_test(ensure_twice_is_one_sandbox),
	cmocka_unit_test(a_legacy_id_is_kept_as_it_is),
	cmocka_unit_test(a_late_ensure_of_an_older_start_is_refused),
	cmocka_unit_test(a_newer_start_replaces_what_runs),
	cmocka_unit_test(stop_keeps_the_files_and_ends_the_incarnation),
	cmocka_unit_test(destroy_twice_is_harmless_and_no_ensure_follows_it),
	cmocka_unit_test(one_that_was_destroyed_and_runs_again_is_listed),
	cmocka_unit_test(ends_are_begun_side_by_side_behind_the_fence),
	cmocka_unit_test(an_ensure_that_comes_after_its_own_destroy_is_refused),
	cmocka_unit_test(
	    a_late_destroy_does_not_touch_the_files_of_a_newer_start),
	cmocka_unit_test(
	    a_crash_is_seen_and_its_incarnation_does_not_come_back),
	cmocka_unit_test(a_list_has_what_is_ours_and_nothing_else),
	cmocka_unit_test(another_installation_s_sessions_are_not_listed),
	cmocka_unit_test(what_cannot_be_seen_is_not_absent),
	{ 0 },
};
