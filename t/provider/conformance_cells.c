/* conformance_cells.c: tests the files and wrappers of sessions. */
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "suite.h"

#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"
#include "provider/local/local.h"

static void
storage_outlives_the_sandbox_and_goes_with_destroy(void **state)
{
	static const char SESSION[] = "bbbbbbbbbbbbbbbbbbbb";
	struct sandbox_spec s = a_sandbox();
	bool there, left;

	(void)state;
	works(P.ops->storage_exists(&P, s.id, SESSION, &there, &E));
	assert_false(there);
	works(P.ops->storage_drop(&P, s.id, SESSION, &E));
	works(P.ops->storage_make(&P, s.id, SESSION, &E));
	works(P.ops->storage_make(&P, s.id, SESSION, &E));
	assert_int_equal(presence(s.id), PRESENCE_STOPPED);
	ensure(&s);
	works(P.ops->stop(&P, s.id, s.incarnation, soon(), &E));
	works(P.ops->storage_exists(&P, s.id, SESSION, &there, &E));
	assert_true(there);
	works(P.ops->storage_drop(&P, s.id, SESSION, &E));
	works(P.ops->storage_exists(&P, s.id, SESSION, &there, &E));
	assert_false(there);
	works(P.ops->storage_make(&P, s.id, SESSION, &E));
	destroy(&s);
	works(P.ops->storage_exists(&P, s.id, SESSION, &there, &E));
	assert_false(there);
	works(P.ops->sweep(&P, soon(), &left, &E));
	assert_false(left);
}

struct agent_target
a_target(const struct sandbox_spec *s)
{
	struct agent_target t = { .generation = 1 };

	str_copy(t.sandbox, sizeof(t.sandbox), s->id);
	str_copy(t.incarnation, sizeof(t.incarnation), s->incarnation);
	id_random(t.session, ID_SESSION_LEN);
	id_random(t.instance, ID_INSTANCE_LEN);
	works(P.ops->storage_make(&P, s->id, t.session, &E));
	return t;
}

/* Makes a sandbox with a wrapper; `what` NULL: a launch without options. */
static struct agent_target
launched(const struct sandbox_spec *s, const struct agent_launch *what)
{
	static const struct agent_launch PLAIN = { 0 };
	struct agent_target t;

	ensure(s);
	t = a_target(s);
	works(
	    agent_launch(&P, s, &t, what != NULL ? what : &PLAIN, soon(), &E));
	return t;
}

/* Where no cgroup counts the cell's processes, only init can tell. */
static void
assert_cell_there(const struct sandbox_spec *s, const struct agent_target *t)
{
	auto_json json_t *limits = P.ops->limits(&P, s);
	bool gone,
	    counted = !is_local() ||
	    str_equal(json_str(json_object_get(limits, "pids"), "by"),
		"cgroup");

	works(P.ops->cell_gone(&P, t->sandbox, t->session, &gone, &E));
	if (counted)
		assert_false(gone);
}

static void
assert_cell_gone(const struct agent_target *t)
{
	bool gone;

	works(P.ops->cell_gone(&P, t->sandbox, t->session, &gone, &E));
	assert_true(gone);
}

static void
a_wrapper_is_launched_proved_seen_and_killed(void **state)
{
	struct sandbox_spec s = a_sandbox();
	struct agent_launch l = { 0 };
	struct agent_wrappers found;
	struct agent_target t;
	char path[SUITE_PATH_MAX];

	(void)state;
	ensure(&s);
	t = a_target(&s);
	works(agent_look(&P, &t, 0, soon(), &found, &E));
	assert_int_equal(found.count, 0);
	works(agent_launch(&P, &s, &t, &l, soon(), &E));
	works(agent_prove(&P, &t, soon(), &E));
	agent_socket_path(&CONF, t.session, 1, AGENT_PORT_WS, path,
	    sizeof(path));
	assert_int_equal(access(path, F_OK), 0);
	agent_socket_path(&CONF, t.session, 1, 0, path, sizeof(path));
	assert_int_equal(access(path, F_OK), 0);
	refuses(agent_launch(&P, &s, &t, &l, soon(), &E), CODE_ALREADY_RUNNING);
	assert_int_equal(access(path, F_OK), 0);
	works(agent_look(&P, &t, 0, soon(), &found, &E));
	assert_int_equal(found.count, 1);
	assert_string_equal(found.wrapper[0].instance, t.instance);
	assert_int_equal(found.wrapper[0].generation, 1);
	assert_cell_there(&s, &t);
	works(agent_kill(&P, &t, 5000, soon(), &found, &E));
	assert_int_equal(found.count, 0);
	assert_cell_gone(&t);
	agent_unlink_sockets(&CONF, t.session, 1);
	assert_int_equal(access(path, F_OK), -1);
	destroy(&s);
}

static void
nothing_is_launched_after_a_seal(void **state)
{
	struct sandbox_spec s = a_sandbox();
	struct agent_launch l = { 0 };
	struct agent_wrappers found;
	struct agent_target t;
	char path[SUITE_PATH_MAX];

	(void)state;
	ensure(&s);
	t = a_target(&s);
	works(agent_seal(&P, &t, soon(), &found, &E));
	assert_int_equal(found.count, 0);
	refuses(agent_launch(&P, &s, &t, &l, soon(), &E),
	    CODE_STALE_GENERATION);
	agent_socket_path(&CONF, t.session, 1, 0, path, sizeof(path));
	assert_int_equal(access(path, F_OK), -1);
	t.generation = 2;
	works(agent_launch(&P, &s, &t, &l, soon(), &E));
	destroy(&s);
}

static void
a_cell_dies_with_its_sandbox(void **state)
{
	struct sandbox_spec s = a_sandbox();
	struct agent_launch l = { .ports = { 8080 }, .port_count = 1 };
	struct agent_target t;
	char path[SUITE_PATH_MAX];

	(void)state;
	t = launched(&s, &l);
	works(P.ops->stop(&P, s.id, s.incarnation, soon(), &E));
	assert_cell_gone(&t);
	if (is_local()) {
		agent_socket_path(&CONF, t.session, 1, 8080, path,
		    sizeof(path));
		assert_int_equal(access(path, F_OK), -1);
	}
	destroy(&s);
}

/* Suspends the cell; false where this provider or this machine cannot. */
static bool
suspends(const struct agent_target *t, int64_t order)
{
	if (P.ops->suspend != NULL &&
	    P.ops->suspend(&P, t, order, soon(), &E) == 0)
		return true;
	if (P.ops->suspend != NULL) {
		assert_code(E.code, CODE_CANNOT_SUSPEND);
		assert_string_equal(CONF.cgroup_root, "none");
	}
	return false;
}

static void
what_is_suspended_stands_still_and_goes_on(void **state)
{
	/* wait: the cell is frozen and never answers */
	enum { A_MOMENT_MS = 300 };
	struct sandbox_spec s = a_sandbox();
	struct agent_target t;

	(void)state;
	t = launched(&s, NULL);
	for (int64_t order = 1; order < 20 && suspends(&t, order); order += 2) {
		refuses(agent_prove(&P, &t, clock_ms() + A_MOMENT_MS, &E),
		    CODE_TIMED_OUT);
		works(P.ops->resume(&P, &t, order + 1, soon(), &E));
		works(agent_prove(&P, &t, soon(), &E));
		refuses(P.ops->suspend(&P, &t, order, soon(), &E),
		    CODE_STALE_ORDER);
		works(agent_prove(&P, &t, soon(), &E));
	}
	destroy(&s);
}

static void
what_is_suspended_can_be_ended(void **state)
{
	struct sandbox_spec s = a_sandbox();
	struct agent_launch l = { 0 };
	struct agent_wrappers found;
	struct agent_target t;

	(void)state;
	t = launched(&s, NULL);
	(void)suspends(&t, 1);
	works(agent_seal(&P, &t, soon(), &found, &E));
	works(agent_kill(&P, &t, 5000, soon(), &found, &E));
	assert_int_equal(found.count, 0);
	assert_cell_gone(&t);
	t.generation = 2;
	works(agent_launch(&P, &s, &t, &l, soon(), &E));
	works(agent_prove(&P, &t, soon(), &E)); /* the suspend left nothing */
	(void)suspends(&t, 2);
	works(P.ops->stop(&P, s.id, s.incarnation, soon(), &E));
	assert_cell_gone(&t);
	destroy(&s);
}

/* Frozen processes do not die with their init until they are thawed. */
static void
what_is_suspended_ends_with_its_init(void **state)
{
	struct sandbox_spec s = a_sandbox();
	struct agent_target t;

	(void)state;
	if (!is_local())
		return;
	t = launched(&s, NULL);
	(void)suspends(&t, 1);
	kill(recorded(s.id, "init"), SIGKILL);
	for (int64_t end = soon(); presence(s.id) == PRESENCE_RUNNING;) {
		assert_true(clock_left_ms(end) > 0);
		works(P.ops->thaw_orphans(&P, s.id, &E));
		usleep(10000); /* wait: polls, the limit is SOON_MS */
	}
	assert_int_equal(presence(s.id), PRESENCE_STOPPED);
	destroy(&s);
}

/* An init that cannot be reached may still be alive. */
static void
what_is_suspended_stays_so_when_its_init_is_out_of_reach(void **state)
{
	/* wait: the cell is frozen and never answers */
	enum { A_MOMENT_MS = 300 };
	struct sandbox_spec s = a_sandbox();
	auto_free char *control = NULL;
	struct agent_target t;

	(void)state;
	if (!is_local())
		return;
	t = launched(&s, NULL);
	control = local_control_path(&P, s.id, s.incarnation);
	if (suspends(&t, 1)) {
		assert_int_equal(chmod(control, 0), 0);
		assert_int_equal(ping(&s, &E), -1);
		works(P.ops->thaw_orphans(&P, s.id, &E));
		assert_int_equal(presence(s.id), PRESENCE_RUNNING);
		assert_int_equal(chmod(control, 0660), 0);
		works(P.ops->thaw_orphans(&P, s.id, &E)); /* init lives */
		refuses(agent_prove(&P, &t, clock_ms() + A_MOMENT_MS, &E),
		    CODE_TIMED_OUT);
	}
	destroy(&s);
}

static void
limits_are_told_one_by_one(void **state)
{
	static const char *const NAMES[] = { "memoryMb", "cpuMillis", "diskMb",
		"pids" };
	struct sandbox_spec s = a_sandbox();
	auto_json json_t *limits = P.ops->limits(&P, &s);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(NAMES); i++) {
		const json_t *l = json_object_get(limits, NAMES[i]);

		assert_true(
		    json_integer_value(json_object_get(l, "value")) > 0);
		assert_true(json_str(l, "by")[0] != '\0');
	}
}

const struct CMUnitTest SUITE_CELLS[] = {
	cmocka_unit_test(storage_outlives_the_sandbox_and_goes_with_destroy),
	cmocka_unit_test(a_wrapper_is_launched_proved_seen_and_killed),
	cmocka_unit_test(nothing_is_launched_after_a_seal),
	cmocka_unit_test(a_cell_dies_with_its_sandbox),
	cmocka_unit_test(what_is_suspended_stands_still_and_goes_on),
	cmocka_unit_test(what_is_suspended_can_be_ended),
	cmocka_unit_test(what_is_suspended_ends_with_its_init),
	cmocka_unit_test(
	    what_is_suspended_stays_so_when_its_init_is_out_of_reach),
	cmocka_unit_test(limits_are_told_one_by_one),
	{ 0 },
};
