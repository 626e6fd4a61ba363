/* session_test.c: the words for a session's life. */
#include "../unit.h"

#include "common/mem.h"
#include "domain/session.h"

/* Which words these are, t/sql/transitions.t compares with the database. */
static void
every_state_has_a_word_and_reads_back(void **state)
{
	(void)state;
	for (int i = 0; i < SESSION__MAX; i++) {
		assert_non_null(SESSION_STATE_NAMES[i]);
		assert_int_equal(session_state_parse(SESSION_STATE_NAMES[i]),
		    i);
	}
	assert_null(SESSION_STATE_NAMES[SESSION__MAX]);
}

static void
other_words_are_none_of_ours(void **state)
{
	static const char *const WORDS[] = { "", "READY", "ready ", "running" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(WORDS); i++)
		assert_int_equal(session_state_parse(WORDS[i]), SESSION__MAX);
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
		cmocka_unit_test(every_state_has_a_word_and_reads_back),
		cmocka_unit_test(other_words_are_none_of_ours),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
