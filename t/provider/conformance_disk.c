/* conformance_disk.c: tests disk space, the ballast, and frozen cells. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "suite.h"

#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"
#include "provider/link/disk_usage.h"

/* wait: QUICK is for frozen cells, which never answer */
enum { MB = 1024 * 1024, QUICK_MS = 300 };

static struct agent_target
a_cell(const struct sandbox_spec *s)
{
	struct agent_target t = { .generation = 1 };
	struct agent_launch l = { 0 };

	ensure(s);
	str_copy(t.sandbox, sizeof(t.sandbox), s->id);
	str_copy(t.incarnation, sizeof(t.incarnation), s->incarnation);
	id_random(t.session, ID_SESSION_LEN);
	id_random(t.instance, ID_INSTANCE_LEN);
	works(P.ops->storage_make(&P, s->id, t.session, &E));
	works(agent_launch(&P, s, &t, &l, soon(), &E));
	return t;
}

static bool
is_frozen(const char *session)
{
	auto_free struct session_seen *f = NULL;
	size_t count;
	bool found = false;

	works(P.ops->frozen(&P, &f, &count, &E));
	for (size_t i = 0; i < count; i++)
		found = found || str_equal(f[i].session, session);
	return found;
}

/* Without a cgroup freezer, init answers before all processes have stopped. */
static void
wait_until_still(const struct agent_target *t)
{
	int64_t end = soon();

	while (agent_prove(&P, t, clock_ms() + QUICK_MS, &E) == 0)
		assert_true(clock_left_ms(end) > 0);
	assert_code(E.code, CODE_TIMED_OUT);
}

static void
there_is_room_and_it_is_told(void **state)
{
	struct sandbox_spec s = a_sandbox();
	struct capacity here, all;

	(void)state;
	ensure(&s);
	works(P.ops->capacity(&P, s.id, &here, &E));
	works(P.ops->capacity(&P, "", &all, &E));
	assert_true(here.free_bytes > 0 && here.free_bytes <= here.total_bytes);
	assert_int_equal(here.total_bytes, all.total_bytes);
	assert_false(P.ops->own_disk(&P, s.id));
	destroy(&s);
	if (is_local()) /* absent files have no size, which is not size 0 */
		assert_int_equal(P.ops->capacity(&P, s.id, &here, &E), -1);
}

static void
workspaces_are_listed_with_their_age(void **state)
{
	static const char SESSION[] = "cccccccccccccccccccc";
	struct sandbox_spec s = a_sandbox();
	struct workspace *w = NULL;
	int64_t end = soon();
	size_t count;
	bool young;

	(void)state;
	works(P.ops->workspaces(&P, s.id, &w, &count, &E));
	assert_int_equal(count, 0);
	free(w);
	works(P.ops->storage_make(&P, s.id, SESSION, &E));
	do { /* the file system's finer clock may put it into the next second */
		works(P.ops->workspaces(&P, s.id, &w, &count, &E));
		assert_int_equal(count, 1);
		young = w[0].age_seconds < 0 && clock_left_ms(end) > 0;
		if (young)
			free(w);
	} while (young);
	assert_string_equal(w[0].session, SESSION);
	assert_in_range(w[0].age_seconds, 0, 600);
	free(w);
	works(P.ops->storage_drop(&P, s.id, SESSION, &E));
	destroy(&s);
}

static void
the_ballast_is_as_large_as_asked_for(void **state)
{
	(void)state;
	works(P.ops->ballast(&P, 3L * MB, &E));
	assert_int_equal(P.ops->ballast_size(&P), 3L * MB);
	works(P.ops->ballast(&P, 2L * MB, &E));
	works(P.ops->ballast(&P, 2L * MB, &E));
	assert_int_equal(P.ops->ballast_size(&P), 2L * MB);
	works(P.ops->ballast(&P, 0, &E));
	works(P.ops->ballast(&P, 0, &E));
	assert_int_equal(P.ops->ballast_size(&P), 0);
}

/* Half a ballast would look like a whole one and keep no space free. */
static void
half_a_ballast_is_none(void **state)
{
	auto_free char *path = xasprintf("%s/ballast", CONF.state_dir);

	(void)state;
	if (!is_local())
		return;
	assert_int_equal(P.ops->ballast(&P, INT64_MAX / 2, &E), -1);
	assert_int_equal(access(path, F_OK), -1);
	works(P.ops->ballast(&P, 0, &E));
}

static void
what_a_session_uses_is_told(void **state)
{
	struct sandbox_spec s = a_sandbox();
	struct agent_target t = a_cell(&s);
	auto_free struct agent_disk_usage *u = NULL;
	auto_free struct agent_cell *cells = NULL;
	struct agent_cells list = { 0 };
	size_t count;

	(void)state;
	works(agent_prove(&P, &t, soon(), &E));
	works(
	    agent_disk_usage(&P, s.id, s.incarnation, soon(), &u, &count, &E));
	assert_int_equal(count, 1);
	assert_string_equal(u[0].session, t.session);
	assert_true(u[0].whole && u[0].bytes >= 0 && u[0].bytes < MB);
	str_copy(list.sandbox, sizeof(list.sandbox), s.id);
	str_copy(list.incarnation, sizeof(list.incarnation), s.incarnation);
	agent_cells_all(&P, soon(), &list, 1);
	cells = list.cells;
	assert_true(list.answered);
	assert_int_equal(list.count, 1);
	assert_string_equal(cells[0].session, t.session);
	assert_string_equal(cells[0].instance, t.instance);
	destroy(&s);
}

static int
freeze(const struct agent_target *t, bool on)
{
	struct session_seen s = { .generation = t->generation };

	str_copy(s.sandbox, sizeof(s.sandbox), t->sandbox);
	str_copy(s.session, sizeof(s.session), t->session);
	return P.ops->cell_freeze(&P, &s, on, &E);
}

static void
a_frozen_cell_stands_still_until_it_is_let_go(void **state)
{
	struct sandbox_spec s = a_sandbox();
	struct agent_target t = a_cell(&s);

	(void)state;
	works(agent_prove(&P, &t, soon(), &E));
	works(freeze(&t, true));
	works(freeze(&t, true));
	assert_true(is_frozen(t.session));
	if (is_local()) /* the fake's wrapper answers all the same */
		wait_until_still(&t);
	works(freeze(&t, false));
	works(freeze(&t, false));
	assert_false(is_frozen(t.session));
	works(agent_prove(&P, &t, soon(), &E));
	destroy(&s);
}

/* Without a cgroup freezer, init is asked, and init may obey later. */
static void
who_may_have_been_frozen_is_on_record(void **state)
{
	struct sandbox_spec s = a_sandbox();
	struct agent_target t = a_cell(&s);

	(void)state;
	works(agent_prove(&P, &t, soon(), &E));
	if (is_local())
		kill(recorded(s.id, "init"), SIGSTOP);
	if (freeze(&t, true) < 0)
		assert_code(E.code, CODE_TIMED_OUT);
	assert_true(is_frozen(t.session));
	if (is_local())
		kill(recorded(s.id, "init"), SIGCONT);
	works(freeze(&t, false));
	assert_false(is_frozen(t.session));
	works(agent_prove(&P, &t, soon(), &E));
	destroy(&s);
}

static void
a_frozen_cell_can_be_killed(void **state)
{
	struct sandbox_spec s = a_sandbox();
	struct agent_target t = a_cell(&s);
	struct agent_wrappers found;
	bool gone;

	(void)state;
	works(freeze(&t, true));
	works(agent_kill(&P, &t, 5000, soon(), &found, &E));
	assert_int_equal(found.count, 0);
	works(P.ops->cell_gone(&P, s.id, t.session, &gone, &E));
	assert_true(gone);
	assert_false(is_frozen(t.session));
	destroy(&s);
}

static void
a_sandbox_with_a_frozen_cell_can_be_stopped(void **state)
{
	struct sandbox_spec s = a_sandbox();
	struct agent_target t = a_cell(&s);

	(void)state;
	works(freeze(&t, true));
	works(P.ops->stop(&P, s.id, s.incarnation, soon(), &E));
	assert_int_equal(presence(s.id), PRESENCE_STOPPED);
	/* thawing a cell that no longer exists is success */
	works(freeze(&t, false));
	assert_false(is_frozen(t.session));
	destroy(&s);
}

static void
a_new_life_is_not_frozen(void **state)
{
	struct sandbox_spec s = a_sandbox(), next = after(&s);
	struct agent_target t = a_cell(&s);
	struct agent_launch l = { 0 };

	(void)state;
	works(freeze(&t, true));
	works(P.ops->stop(&P, s.id, s.incarnation, soon(), &E));
	ensure(&next);
	str_copy(t.incarnation, sizeof(t.incarnation), next.incarnation);
	t.generation = 2;
	works(agent_launch(&P, &next, &t, &l, soon(), &E));
	works(agent_prove(&P, &t, soon(), &E));
	assert_false(is_frozen(t.session));
	destroy(&next);
}

/* Only where the machine can suspend at all. */
static void
who_is_suspended_is_not_let_go_with_the_others(void **state)
{
	struct sandbox_spec s = a_sandbox();
	struct agent_target t = a_cell(&s);
	auto_free struct agent_disk_usage *u = NULL;
	size_t count;
	int rc = -1;

	(void)state;
	works(agent_prove(&P, &t, soon(), &E));
	works(freeze(&t, true));
	if (P.ops->suspend != NULL) {
		rc = P.ops->suspend(&P, &t, 1, soon(), &E);
		assert_true(rc == 0 || E.code == CODE_CANNOT_SUSPEND);
	}
	if (rc == 0 && is_local()) {
		assert_false(is_frozen(t.session));
		works(freeze(&t, false));
		works(agent_disk_usage(&P, s.id, s.incarnation, soon(), &u,
		    &count, &E));
		assert_int_equal(count, 0); /* a suspended cell is no writer */
		refuses(agent_prove(&P, &t, clock_ms() + QUICK_MS, &E),
		    CODE_TIMED_OUT);
		works(P.ops->resume(&P, &t, 2, soon(), &E));
		works(agent_prove(&P, &t, soon(), &E));
		/* a refused order leaves the session on record as frozen */
		works(freeze(&t, true));
		refuses(P.ops->suspend(&P, &t, 1, soon(), &E),
		    CODE_STALE_ORDER);
		assert_true(is_frozen(t.session));
		works(freeze(&t, false));
		works(agent_prove(&P, &t, soon(), &E));
	}
	destroy(&s);
}

const struct CMUnitTest SUITE_DISK[] = {
	cmocka_unit_test(there_is_room_and_it_is_told),
	cmocka_unit_test(workspaces_are_listed_with_their_age),
	cmocka_unit_test(the_ballast_is_as_large_as_asked_for),
	cmocka_unit_test(half_a_ballast_is_none),
	cmocka_unit_test(what_a_session_uses_is_told),
	cmocka_unit_test(a_frozen_cell_stands_still_until_it_is_let_go),
	cmocka_unit_test(who_may_have_been_frozen_is_on_record),
	cmocka_unit_test(a_frozen_cell_can_be_killed),
	cmocka_unit_test(a_sandbox_with_a_frozen_cell_can_be_stopped),
	cmocka_unit_test(a_new_life_is_not_frozen),
	cmocka_unit_test(who_is_suspended_is_not_let_go_with_the_others),
	{ 0 },
};
