/* state_test.c: tests the words for states, as types. */
#include "../unit.h"

#include "common/mem.h"
#include "domain/state.h"

/* t/sql/transitions.t compares these words with the database. */
static void
every_word_reads_back(void **state)
{
	(void)state;
	for (int i = 0; SESSION_STATES[i] != NULL; i++)
		assert_int_equal(state_session_parse(SESSION_STATES[i]), i);
	for (int i = 0; LEASE_STATES[i] != NULL; i++)
		assert_int_equal(state_lease_parse(LEASE_STATES[i]), i);
	for (int i = 0; SANDBOX_STATES[i] != NULL; i++)
		assert_int_equal(state_sandbox_parse(SANDBOX_STATES[i]), i);
	assert_string_equal(SESSION_STATES[SESSION_LOST], "lost");
	assert_string_equal(LEASE_STATES[LEASE_STOPPING], "stopping");
	assert_string_equal(SANDBOX_STATES[SANDBOX_DESTROYING], "destroying");
}

static void
other_words_promise_nothing(void **state)
{
	static const char *const WORDS[] = { "", "READY", "ready ", "NONE",
		"none ", "ABSENT", "paused" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(WORDS); i++) {
		assert_int_equal(state_session_parse(WORDS[i]),
		    SESSION_UNKNOWN);
		/* an unknown word never means that the lease is free */
		assert_int_equal(state_lease_parse(WORDS[i]),
		    LEASE_STOP_NEEDED);
		assert_int_equal(state_sandbox_parse(WORDS[i]),
		    SANDBOX_UNKNOWN);
	}
}

static void
what_moves_and_what_ends(void **state)
{
	static const struct {
		const char *word;
		bool moves, ends;
	} CASES[] = {
		{ "", false, false },
		{ "initializing", true, false },
		{ "ready", false, false },
		{ "sleeping", true, false },
		{ "asleep", false, false },
		{ "deleting", true, true },
		{ "deleted", false, true },
		{ "failed", false, false },
		{ "lost", false, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		enum session_state s = state_session_parse(CASES[i].word);

		assert_int_equal(s, i);
		assert_int_equal(state_session_moves(s), CASES[i].moves);
		assert_int_equal(state_session_ends(s), CASES[i].ends);
	}
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
		cmocka_unit_test(every_word_reads_back),
		cmocka_unit_test(other_words_promise_nothing),
		cmocka_unit_test(what_moves_and_what_ends),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
