/* session_test.c: the words for a session's life. */
#include "../unit.h"

#include "common/mem.h"
#include "domain/session.h"

static void
the_words_are_those_of_the_api(void **state)
{
	static const char *const WORDS[] = { "initializing", "ready",
		"sleeping", "asleep", "deleting", "deleted", "failed", "lost" };

	(void)state;
	assert_int_equal(ARRAY_LEN(WORDS), SESSION__MAX);
	for (int i = 0; i < SESSION__MAX; i++) {
		assert_string_equal(SESSION_STATE_NAMES[i], WORDS[i]);
		assert_int_equal(session_state_parse(WORDS[i]), i);
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

static void
isolation_has_two_words(void **state)
{
	(void)state;
	assert_string_equal(ISOLATION_NAMES[ISOLATION_SESSION], "session");
	assert_string_equal(ISOLATION_NAMES[ISOLATION_SHARED], "shared");
	assert_null(ISOLATION_NAMES[ISOLATION_SHARED + 1]);
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
		cmocka_unit_test(the_words_are_those_of_the_api),
		cmocka_unit_test(other_words_are_none_of_ours),
		cmocka_unit_test(isolation_has_two_words),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
