/* lease_test.c: every pair of state and event. */
#include "../unit.h"

#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "common/str.h"
#include "domain/lease.h"

/* clang-format off */
/* what each event leads to from each state; NO: nothing changes */
enum { NO = -1, NONE = LEASE_NONE, OWNS = LEASE_OWNS_WRAPPER,
	NEED = LEASE_STOP_NEEDED, STOP = LEASE_STOPPING };
static const int WANT[LEASE_EV__MAX][LEASE__MAX] = {
	/*                                 none  owns  stop_needed stopping */
	[LEASE_EV_ALLOCATE]             = { OWNS, NO,   NO,         NO   },
	[LEASE_EV_STARTUP_VERIFIED]     = { NO,   OWNS, NO,         NO   },
	[LEASE_EV_DELIVERY_ACCEPTED]    = { NO,   OWNS, NO,         NO   },
	[LEASE_EV_RETAIN_WARM]          = { NO,   OWNS, NO,         NO   },
	[LEASE_EV_REUSE]                = { NO,   OWNS, NO,         NO   },
	[LEASE_EV_OWNED_ABSENT]         = { NO,   NONE, NO,         NO   },
	[LEASE_EV_REQUEST_STOP]         = { NEED, NEED, NEED,       STOP },
	[LEASE_EV_BEGIN_STOP_ATTEMPT]   = { NO,   NO,   STOP,       NO   },
	[LEASE_EV_STOP_ABSENT]          = { NO,   NO,   NO,         NONE },
	[LEASE_EV_STOP_NOT_CONFIRMED]   = { NO,   NO,   NO,         NEED },
	[LEASE_EV_STOP_ATTEMPT_EXPIRED] = { NO,   NO,   NO,         NEED },
};
/* what must be the same before the event counts */
static const enum lease_fence FENCES[LEASE_EV__MAX] = {
	[LEASE_EV_ALLOCATE]             = FENCE_NOTHING,
	[LEASE_EV_STARTUP_VERIFIED]     = FENCE_INSTANCE,
	[LEASE_EV_DELIVERY_ACCEPTED]    = FENCE_INSTANCE,
	[LEASE_EV_RETAIN_WARM]          = FENCE_INSTANCE,
	[LEASE_EV_REUSE]                = FENCE_INSTANCE,
	[LEASE_EV_OWNED_ABSENT]         = FENCE_INSTANCE,
	[LEASE_EV_REQUEST_STOP]         = FENCE_NOTHING,
	[LEASE_EV_BEGIN_STOP_ATTEMPT]   = FENCE_DUE,
	[LEASE_EV_STOP_ABSENT]          = FENCE_ATTEMPT,
	[LEASE_EV_STOP_NOT_CONFIRMED]   = FENCE_ATTEMPT,
	[LEASE_EV_STOP_ATTEMPT_EXPIRED] = FENCE_EXPIRED,
};
/* clang-format on */

static void
every_pair_leads_where_the_contract_says(void **state)
{
	(void)state;
	for (int ev = 0; ev < LEASE_EV__MAX; ev++)
		for (int from = 0; from < LEASE__MAX; from++) {
			const struct lease_transition *t = NULL;
			struct err e = { 0 };
			int rc = lease_next((enum lease_state)from,
			    (enum lease_event)ev, &t, &e);

			if (WANT[ev][from] == NO) {
				assert_int_equal(rc, -1);
				assert_null(t);
				continue;
			}
			assert_int_equal(rc, 0);
			assert_int_equal(t->to, WANT[ev][from]);
			assert_int_equal(t->fence, FENCES[ev]);
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
	assert_string_equal(e.code, "lease_refused");
	assert_string_equal(e.msg,
	    "allocate is not possible while the lease is stopping");
}

static void
no_pair_stands_twice(void **state)
{
	size_t pairs = 0;

	(void)state;
	for (int ev = 0; ev < LEASE_EV__MAX; ev++)
		for (int from = 0; from < LEASE__MAX; from++)
			pairs += WANT[ev][from] != NO;
	assert_int_equal(LEASE_TRANSITION_COUNT, pairs);
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

static void
the_reasons_are_those_of_the_contract(void **state)
{
	static const char *const WORDS[] = { "readiness-failed",
		"startup-failed", "unhealthy-wrapper", "terminal-failed",
		"terminal-interrupted", "idle-timeout", "keep-warm-expired",
		"user-interrupt", "session-delete", "unexpected-wrapper",
		"observation-failed", "too-old", "stuck", "orphaned",
		"shutdown", "recovery", NULL };
	size_t i;

	(void)state;
	for (i = 0; WORDS[i] != NULL; i++)
		assert_string_equal(STOP_REASON_NAMES[i], WORDS[i]);
	assert_null(STOP_REASON_NAMES[i]);
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
		cmocka_unit_test(every_pair_leads_where_the_contract_says),
		cmocka_unit_test(effects_are_what_the_contract_says),
		cmocka_unit_test(a_refusal_says_what_and_why),
		cmocka_unit_test(no_pair_stands_twice),
		cmocka_unit_test(only_an_observed_absence_releases_a_wrapper),
		cmocka_unit_test(every_value_has_a_word_and_reads_back),
		cmocka_unit_test(what_cannot_be_read_is_due_for_clean_up),
		cmocka_unit_test(the_reasons_are_those_of_the_contract),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
