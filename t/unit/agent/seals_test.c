/* seals_test.c: tests the seals of generations that are over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "agent/init/seals.h"

static const char A[] = "aaaaaaaaaaaaaaaaaaaa", B[] = "bbbbbbbbbbbbbbbbbbbb";

enum { MANY = 100 * SEAL_SETS * SEAL_WAYS, FIRST = 1000 };

static int
setup(void **state)
{
	*state = calloc(1, sizeof(struct seals));
	return *state == NULL;
}

static int
teardown(void **state)
{
	free(*state);
	return 0;
}

/* Seals one session after the other, a millisecond apart. */
static void
seal_many(struct seals *s)
{
	char session[ID_SESSION_LEN + 1];

	for (int i = 0; i < MANY; i++) {
		snprintf(session, sizeof(session), "c%019d", i);
		seals_put(s, session, 1, FIRST + i);
		assert_int_equal(seals_get(s, session), 1);
	}
}

static void
a_seal_only_rises(void **state)
{
	struct seals *s = *state;

	assert_int_equal(seals_get(s, A), 0);
	seals_put(s, A, 5, 10);
	seals_put(s, A, 3, 11);
	assert_int_equal(seals_get(s, A), 5);
	seals_put(s, A, 6, 12);
	assert_int_equal(seals_get(s, A), 6);
	assert_int_equal(seals_get(s, B), 0);
}

static void
what_is_sealed_is_held(void **state)
{
	struct seals *s = *state;

	assert_false(seals_hold(s, A, 1, 0));
	seals_put(s, A, 5, 10);
	assert_true(seals_hold(s, A, 4, 20));
	assert_true(seals_hold(s, A, 5, 20));
	assert_false(seals_hold(s, A, 6, 20));
	assert_false(seals_hold(s, B, 1, 5));
}

static void
there_is_always_room_and_what_is_forgotten_is_held(void **state)
{
	struct seals *s = *state;

	seals_put(s, A, 5, FIRST - 1);
	seal_many(s);
	assert_int_equal(seals_get(s, A), 0);
	/* a launch with an intent older than A's seal arrives now */
	assert_true(seals_hold(s, A, 5, FIRST - 2));
	assert_true(seals_hold(s, B, 1, FIRST - 2));
	/* a launch with an intent of now */
	assert_false(seals_hold(s, A, 6, FIRST + MANY));
	assert_false(seals_hold(s, B, 1, FIRST + MANY));
}

/* A late stop seals an old generation after the newer seal was dropped. */
static void
an_old_seal_does_not_stand_for_a_forgotten_one(void **state)
{
	struct seals *s = *state;

	seals_put(s, A, 5, FIRST - 1);
	seal_many(s);
	seals_put(s, A, 3, FIRST + MANY);
	assert_true(seals_hold(s, A, 5, FIRST - 2));
	assert_false(seals_hold(s, A, 6, FIRST + MANY));
}

static void
what_was_sealed_lately_is_not_forgotten(void **state)
{
	struct seals *s = *state;

	seal_many(s);
	/* the last hundred of the many seals are certain to be kept */
	for (int i = MANY - 100; i < MANY; i++) {
		char session[ID_SESSION_LEN + 1];

		snprintf(session, sizeof(session), "c%019d", i);
		assert_int_equal(seals_get(s, session), 1);
	}
	assert_true(s->forgotten_ms < FIRST + MANY - SEAL_SETS);
}

#define SEALS_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		SEALS_TEST(a_seal_only_rises),
		SEALS_TEST(what_is_sealed_is_held),
		SEALS_TEST(there_is_always_room_and_what_is_forgotten_is_held),
		SEALS_TEST(an_old_seal_does_not_stand_for_a_forgotten_one),
		SEALS_TEST(what_was_sealed_lately_is_not_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
