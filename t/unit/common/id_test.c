/* id_test.c: tests random ids. */
#include "../unit.h"

#include <string.h>

#include "common/id.h"
#include "common/mem.h"
#include "common/str.h"

static void
random_names_use_the_whole_alphabet(void **state)
{
	bool seen[256] = { false };
	char out[65];
	size_t letters = 0;

	(void)state;
	for (int i = 0; i < 100; i++) {
		id_random(out, 64);
		assert_true(str_made_of(out, "abcdefghijklmnopqrstuvwxyz234567",
		    64, 64));
		for (const char *s = out; *s != '\0'; s++)
			seen[(unsigned char)*s] = true;
	}
	for (size_t i = 0; i < ARRAY_LEN(seen); i++)
		letters += seen[i];
	assert_int_equal(letters, 32);
}

static void
a_name_has_the_length_asked_for(void **state)
{
	char out[8];

	(void)state;
	memset(out, '#', sizeof(out));
	id_random(out, 3);
	assert_int_equal(strlen(out), 3);
	assert_int_equal(out[4], '#');
	id_random(out, 0);
	assert_string_equal(out, "");
}

static void
session_ids_are_20_small_letters_and_digits(void **state)
{
	static const struct {
		const char *id;
		bool is;
	} CASES[] = {
		{ "abcdefghij0123456789", true },
		{ "abcdefghij012345678", false },
		{ "abcdefghij01234567890", false },
		{ "Abcdefghij0123456789", false },
		{ "abcdefghij012345678.", false },
		{ "abcdefghij012345678\n", false },
		{ "", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
		assert_int_equal(id_is_session(CASES[i].id), CASES[i].is);
}

static void
an_id_of_nginx_fits(void **state)
{
	(void)state;
	assert_true(ID_MAX > 32); /* $request_id is 32 hex digits */
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
		cmocka_unit_test(random_names_use_the_whole_alphabet),
		cmocka_unit_test(a_name_has_the_length_asked_for),
		cmocka_unit_test(session_ids_are_20_small_letters_and_digits),
		cmocka_unit_test(an_id_of_nginx_fits),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
