/* fake_test.c: the fake fails as it is told, and only then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"
#include "provider/fake.h"

enum { SOON_MS = 10000, BRIEFLY_MS = 30 };

static struct conf CONF;
static const struct provider P = { .ops = &PROVIDER_FAKE, .conf = &CONF };
static const struct sandbox_spec BOX = { .id = "ses-x",
	.incarnation = "a",
	.epoch = 1 };
static const struct agent_target TARGET = { .sandbox = "ses-x",
	.incarnation = "a",
	.session = "s",
	.generation = 1 };

static int64_t
soon(void)
{
	return clock_ms() + SOON_MS;
}

static int
reset(void **state)
{
	(void)state;
	fake_reset();
	return 0;
}

static enum presence
presence(void)
{
	struct sandbox_seen seen;
	struct err e = { 0 };

	assert_int_equal(P.ops->inspect(&P, BOX.id, &seen, &e), 0);
	return seen.presence;
}

static const struct {
	enum fake_how how;
	const char *code;
	enum presence after;
} WAYS[] = {
	{ FAKE_FAIL, "fake_failure", PRESENCE_ABSENT },
	{ FAKE_HANG, "timed_out", PRESENCE_ABSENT },
	{ FAKE_LOSE, "timed_out", PRESENCE_RUNNING },
};

static void
each_way_to_fail_leaves_what_it_says(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(WAYS); i++) {
		struct err e = { 0 };

		fake_reset();
		fake_script("ensure", WAYS[i].how, 1);
		assert_int_equal(
		    P.ops->ensure(&P, &BOX, clock_ms() + BRIEFLY_MS, &e), -1);
		assert_string_equal(e.code, WAYS[i].code);
		assert_int_equal(presence(), WAYS[i].after);
		/* only so often as was said */
		assert_int_equal(P.ops->ensure(&P, &BOX, soon(), &e), 0);
		assert_int_equal(fake_calls("ensure"), 2);
	}
}

/* SIGTERM, as a wave sends it. */
static bool
term(void)
{
	struct agent_one one = { .target = TARGET }, *who = &one;

	agent_ask_all(&P, AGENT_TERM, 0, soon(), &who, 1);
	return one.answered;
}

static void
a_stubborn_cell_needs_a_kill_and_an_immortal_one_stays(void **state)
{
	struct agent_sight sight;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(P.ops->ensure(&P, &BOX, soon(), &e), 0);
	fake_cell_add(BOX.id, "s", "i", 1);
	fake_stubborn(true, true);
	assert_true(term());
	assert_int_equal(agent_kill(&P, &TARGET, 10, soon(), &sight, &e), 0);
	assert_int_equal(sight.count, 1);
	fake_stubborn(true, false);
	assert_true(term());
	assert_int_equal(agent_look(&P, &TARGET, 0, soon(), &sight, &e), 0);
	assert_int_equal(sight.count, 1);
	assert_int_equal(agent_kill(&P, &TARGET, 10, soon(), &sight, &e), 0);
	assert_int_equal(sight.count, 0);
}

static void
a_seal_lasts_as_long_as_its_incarnation(void **state)
{
	struct sandbox_spec next = { .id = "ses-x",
		.incarnation = "b",
		.epoch = 2 };
	struct agent_sight sight;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(P.ops->ensure(&P, &BOX, soon(), &e), 0);
	fake_cell_add(BOX.id, "s", "i", 1);
	assert_int_equal(agent_seal(&P, &TARGET, soon(), &sight, &e), 0);
	assert_int_equal(sight.count, 1);
	fake_crash(BOX.id);
	assert_int_equal(presence(), PRESENCE_STOPPED);
	assert_int_equal(agent_look(&P, &TARGET, 0, soon(), &sight, &e), -1);
	assert_string_equal(e.code, "not_listening");
	assert_int_equal(P.ops->ensure(&P, &next, soon(), &e), 0);
}

static void
a_stranger_is_listed(void **state)
{
	struct sandbox_seen *all = NULL;
	struct err e = { 0 };
	size_t count;

	(void)state;
	fake_box_add("org-y", "z");
	assert_int_equal(P.ops->list(&P, &all, &count, &e), 0);
	assert_int_equal(count, 1);
	assert_string_equal(all[0].id, "org-y");
	assert_string_equal(all[0].incarnation, "z");
	assert_int_equal(all[0].presence, PRESENCE_RUNNING);
	mem_free_ptr(&all);
}

#define test(f) cmocka_unit_test_setup_teardown(f, reset, reset)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		test(each_way_to_fail_leaves_what_it_says),
		test(a_stubborn_cell_needs_a_kill_and_an_immortal_one_stays),
		test(a_seal_lasts_as_long_as_its_incarnation),
		test(a_stranger_is_listed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
