/*
 * lease_test.c: what holds of every transition.
 *
 * Which transitions there are, t/sql/transitions.t compares with the database.
 */
#include "../unit.h"

#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "domain/lease.h"

/* How many rows of the table a pair has; *row is the last of them. */
static size_t
rows_of(int from, int ev, const struct lease_transition **row)
{
	size_t n = 0;

	for (size_t i = 0; i < LEASE_TRANSITION_COUNT; i++)
		if ((int)LEASE_TRANSITIONS[i].from == from &&
		    (int)LEASE_TRANSITIONS[i].event == ev) {
			*row = &LEASE_TRANSITIONS[i];
			n++;
		}
	return n;
}

static void
a_pair_has_one_row_which_is_found_or_it_is_refused(void **state)
{
	(void)state;
	for (int ev = 0; ev < LEASE_EV__MAX; ev++)
		for (int from = 0; from < LEASE__MAX; from++) {
			const struct lease_transition *t = NULL, *row = NULL;
			struct err e = { 0 };
			size_t rows = rows_of(from, ev, &row);
			int rc = lease_next((enum lease_state)from,
			    (enum lease_event)ev, &t, &e);

			assert_true(rows <= 1);
			assert_int_equal(rc, rows == 1 ? 0 : -1);
			assert_ptr_equal(t, row);
		}
}

/* Only the outcome of the current attempt ends or undoes a stop. */
static void
a_stop_can_be_asked_for_in_every_state_and_is_never_taken_back(void **state)
{
	(void)state;
	for (int from = 0; from < LEASE__MAX; from++) {
		const struct lease_transition *row = LEASE_TRANSITIONS;

		assert_int_equal(rows_of(from, LEASE_EV_REQUEST_STOP, &row), 1);
		assert_true(
		    row->to == LEASE_STOP_NEEDED || row->to == LEASE_STOPPING);
	}
	for (size_t i = 0; i < LEASE_TRANSITION_COUNT; i++) {
		const struct lease_transition *t = &LEASE_TRANSITIONS[i];

		if (t->from == LEASE_STOP_NEEDED || t->from == LEASE_STOPPING)
			assert_int_not_equal(t->to, LEASE_OWNS_WRAPPER);
	}
}

/* A late message of an earlier wrapper or attempt must not count. */
static void
only_an_allocation_and_a_stop_need_no_fence(void **state)
{
	(void)state;
	for (size_t i = 0; i < LEASE_TRANSITION_COUNT; i++) {
		const struct lease_transition *t = &LEASE_TRANSITIONS[i];

		assert_int_equal(t->fence == FENCE_NOTHING,
		    t->event == LEASE_EV_ALLOCATE ||
			t->event == LEASE_EV_REQUEST_STOP);
	}
}

/* The words of the contract, one claim each. */
static void
effects_are_what_the_contract_says(void **state)
{
	unsigned every = 0;

	(void)state;
	for (size_t i = 0; i < LEASE_TRANSITION_COUNT; i++) {
		const struct lease_transition *t = &LEASE_TRANSITIONS[i];
		bool frees = t->to == LEASE_NONE;

		every |= t->effects;
		/* the generation grows with an owner and never else */
		assert_int_equal((t->effects & EFFECT_GENERATION) != 0,
		    t->event == LEASE_EV_ALLOCATE);
		assert_int_equal((t->effects & EFFECT_RELEASE) != 0, frees);
		assert_int_equal((t->effects & EFFECT_ATTEMPT) != 0,
		    t->to == LEASE_STOPPING && t->from != LEASE_STOPPING);
		assert_int_equal((t->effects & EFFECT_BACKOFF) != 0,
		    t->from == LEASE_STOPPING && t->to == LEASE_STOP_NEEDED);
		assert_int_equal((t->effects & EFFECT_STOP) != 0,
		    t->to == LEASE_STOP_NEEDED &&
			(t->from == LEASE_NONE ||
			    t->from == LEASE_OWNS_WRAPPER));
		/* what changes nothing says so by having none */
		assert_int_equal(t->effects == 0,
		    t->event == LEASE_EV_REQUEST_STOP && t->from == t->to);
		/* nothing is set and cleared at once */
		assert_false((t->effects & EFFECT_STARTUP) != 0 &&
		    (t->effects & EFFECT_NO_STARTUP) != 0);
		assert_false((t->effects & EFFECT_WARM) != 0 &&
		    (t->effects & EFFECT_NO_WARM) != 0);
	}
	assert_int_equal(every, EFFECT__END - 1);
	for (unsigned i = 0; (1U << i) < EFFECT__END; i++)
		assert_non_null(LEASE_EFFECT_NAMES[i]);
}

static void
a_refusal_says_what_and_why(void **state)
{
	const struct lease_transition *t = NULL;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(lease_next(LEASE_STOPPING, LEASE_EV_ALLOCATE, &t, &e),
	    -1);
	assert_int_equal(e.kind, ERR_CONFLICT);
	assert_code(e.code, CODE_LEASE_REFUSED);
	assert_string_equal(e.msg,
	    "allocate is not possible while the lease is stopping");
}

static void
only_an_observed_absence_releases_a_wrapper(void **state)
{
	(void)state;
	for (size_t i = 0; i < LEASE_TRANSITION_COUNT; i++) {
		const struct lease_transition *t = &LEASE_TRANSITIONS[i];

		if (t->to == LEASE_NONE)
			assert_true(t->event == LEASE_EV_OWNED_ABSENT ||
			    t->event == LEASE_EV_STOP_ABSENT);
	}
}

static void
every_value_has_a_word_and_reads_back(void **state)
{
	(void)state;
	for (int i = 0; i < LEASE__MAX; i++)
		assert_int_equal(lease_state_parse(LEASE_STATE_NAMES[i]), i);
	assert_null(LEASE_STATE_NAMES[LEASE__MAX]);
	for (int i = 0; i < LEASE_EV__MAX; i++)
		assert_non_null(LEASE_EVENT_NAMES[i]);
	assert_null(LEASE_EVENT_NAMES[LEASE_EV__MAX]);
	assert_null(LEASE_FENCE_NAMES[FENCE_EXPIRED + 1]);
}

static void
what_cannot_be_read_is_due_for_clean_up(void **state)
{
	static const char *const WORDS[] = { "", "NONE", "none ", "owned",
		"nothing" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(WORDS); i++)
		assert_int_equal(lease_state_parse(WORDS[i]),
		    LEASE_STOP_NEEDED);
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
		cmocka_unit_test(
		    a_pair_has_one_row_which_is_found_or_it_is_refused),
		cmocka_unit_test(
		    a_stop_can_be_asked_for_in_every_state_and_is_never_taken_back),
		cmocka_unit_test(only_an_allocation_and_a_stop_need_no_fence),
		cmocka_unit_test(effects_are_what_the_contract_says),
		cmocka_unit_test(a_refusal_says_what_and_why),
		cmocka_unit_test(only_an_observed_absence_releases_a_wrapper),
		cmocka_unit_test(every_value_has_a_word_and_reads_back),
		cmocka_unit_test(what_cannot_be_read_is_due_for_clean_up),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
