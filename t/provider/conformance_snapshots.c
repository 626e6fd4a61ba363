/* conformance_snapshots.c: tests snapshots, and sessions made of them. */
#include "suite.h"

#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"

enum { MB = 1024 * 1024 };

static const struct snapshot_bounds MOST = { .bytes = 64 * MB, .seconds = 60 };

static struct snapshot_ref
a_ref(void)
{
	struct snapshot_ref s = { .owner = "0123456789abcdef0123456789abcdef" };

	id_random(s.id, ID_SESSION_LEN);
	return s;
}

static struct agent_target
a_cell(const struct sandbox_spec *s)
{
	struct agent_target t = { .generation = 1 };

	str_copy(t.sandbox, sizeof(t.sandbox), s->id);
	str_copy(t.incarnation, sizeof(t.incarnation), s->incarnation);
	id_random(t.session, ID_SESSION_LEN);
	id_random(t.instance, ID_INSTANCE_LEN);
	return t;
}

static struct agent_target
a_running_cell(const struct sandbox_spec *s)
{
	struct agent_target t = a_cell(s);

	ensure(s);
	works(P.ops->storage_make(&P, s->id, t.session, &E));
	works(agent_launch(&P, s, &t, &(struct agent_launch){ 0 }, soon(), &E));
	return t;
}

static enum snapshot_presence
look(const struct snapshot_ref *s)
{
	struct snapshot_seen seen;

	works(P.ops->snapshot_look(&P, s, &seen, &E));
	return seen.presence;
}

static bool
is_kept(const struct snapshot_ref *s)
{
	auto_free struct snapshot_ref *all = NULL;
	size_t count;
	bool found = false;

	works(P.ops->snapshot_list(&P, &all, &count, &E));
	for (size_t i = 0; i < count; i++)
		found = found ||
		    (str_equal(all[i].id, s->id) &&
			str_equal(all[i].owner, s->owner));
	return found;
}

static bool
has_storage(const struct agent_target *t)
{
	bool there;

	works(P.ops->storage_exists(&P, t->sandbox, t->session, &there, &E));
	return there;
}

static void
one_is_taken_listed_used_and_dropped(void **state)
{
	struct sandbox_spec s = a_sandbox();
	struct agent_target t = a_running_cell(&s), other = a_cell(&s);
	struct snapshot_ref ref = a_ref();

	(void)state;
	assert_int_equal(look(&ref), SNAPSHOT_ABSENT);
	works(agent_write(&P, &t, "/workspace/f", 0644, "text", 4, soon(), &E));
	works(P.ops->snapshot_take(&P, &ref, &t, &MOST, soon(), &E));
	assert_int_equal(look(&ref), SNAPSHOT_WHOLE);
	assert_true(is_kept(&ref));
	for (int i = 0; i < 2; i++) /* a repeated call changes nothing */
		works(P.ops->storage_from(&P, s.id, other.session, &ref, soon(),
		    &E));
	/* parts that a snapshot does not hold are made, as for any session */
	works(P.ops->storage_make(&P, s.id, other.session, &E));
	assert_true(has_storage(&other));
	works(agent_launch(&P, &s, &other, &(struct agent_launch){ 0 }, soon(),
	    &E));
	works(agent_prove(&P, &other, soon(), &E));
	destroy(&s);
	assert_int_equal(look(&ref), SNAPSHOT_WHOLE); /* a snapshot stays */
	for (int i = 0; i < 2; i++)
		works(P.ops->snapshot_drop(&P, &ref, &E));
	assert_int_equal(look(&ref), SNAPSHOT_ABSENT);
	assert_false(is_kept(&ref));
}

static void
one_without_a_session_is_none(void **state)
{
	struct sandbox_spec s = a_sandbox();
	struct snapshot_ref ref = a_ref();
	struct agent_target t = a_cell(&s);
	struct snapshot_seen seen;

	(void)state;
	if (!is_local())
		return;
	ensure(&s);
	assert_int_equal(P.ops->snapshot_take(&P, &ref, &t, &MOST, soon(), &E),
	    -1);
	do
		works(P.ops->snapshot_look(&P, &ref, &seen, &E));
	while (seen.presence == SNAPSHOT_UNDER_WAY);
	assert_int_equal(seen.presence, SNAPSHOT_BROKEN);
	assert_int_equal(
	    P.ops->storage_from(&P, s.id, t.session, &ref, soon(), &E), -1);
	assert_false(has_storage(&t));
	works(P.ops->snapshot_drop(&P, &ref, &E));
	destroy(&s);
}

static void
one_that_is_too_large_is_none(void **state)
{
	static const struct snapshot_bounds LITTLE = { .bytes = 8192,
		.seconds = 60 };
	struct sandbox_spec s = a_sandbox();
	struct snapshot_ref ref = a_ref();
	struct agent_target t = a_running_cell(&s);
	auto_free char *bytes = xcalloc(1, MB);

	(void)state;
	memset(bytes, 'x', MB);
	works(agent_write(&P, &t, "/workspace/f", 0644, bytes, MB, soon(), &E));
	if (is_local()) {
		refuses(P.ops->snapshot_take(&P, &ref, &t, &LITTLE, soon(), &E),
		    CODE_INSUFFICIENT_STORAGE);
		assert_int_equal(look(&ref), SNAPSHOT_BROKEN);
	}
	destroy(&s);
	works(P.ops->snapshot_drop(&P, &ref, &E));
}

const struct CMUnitTest SUITE_SNAPSHOTS[] = {
	cmocka_unit_test(one_is_taken_listed_used_and_dropped),
	cmocka_unit_test(one_without_a_session_is_none),
	cmocka_unit_test(one_that_is_too_large_is_none),
	{ 0 },
};
