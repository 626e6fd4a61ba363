/* answers_test.c: tests that a shell's answers are read in any pieces. */
#include "t/unit/unit.h"

#include <string.h>

#include "agent/shell/answers.h"
#include "common/mem.h"

static const struct {
	const char *name, *said;
	int64_t ended;
	int exit_code;
	int64_t ready;
	const char *exports;
} CASES[] = {
	{ "nothing", "", 0, 0, 0, "" },
	{ "half a line", "x 1 ", 0, 0, 0, "" },
	{ "an end", "x 1 3\n", 1, 3, 0, "" },
	{ "an end and the rest of it",
	    "x 1 3\ne 1\ndeclare -x A=\"1\"\ndeclare -x B\nd 1\n", 1, 3, 1,
	    "declare -x A=\"1\"\ndeclare -x B\n" },
	{ "the latest counts",
	    "x 1 3\ne 1\nA\nd 1\nx 2 0\ne 2\nB\nC\nd 2\nx 3 1\n", 3, 1, 2,
	    "B\nC\n" },
	{ "exports that are still to come do not",
	    "e 1\nA\nd 1\nx 2 0\ne 2\nhalf", 2, 0, 1, "A\n" },
	{ "values of several lines that look like answers",
	    "x 4 0\ne 4\ndeclare -x A=\"\nx 9 9\nd 3\ne 5\n\"\nd 4\n", 4, 0, 4,
	    "declare -x A=\"\nx 9 9\nd 3\ne 5\n\"\n" },
	{ "no exports at all", "x 1 0\ne 1\nd 1\n", 1, 0, 1, "" },
	{ "the tenant's own fun", "hello\n\nx\nx y z\nxx 1 2\nd\ne\nx 1 2\n", 1,
	    2, 0, "" },
	{ "a line that is much too long",
	    "x 5 5 "
	    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	    "\nx 6 256\n",
	    6, 0, 0, "" },
};

static void
lines_mean_the_same_in_any_pieces(void **state)
{
	static const size_t PIECES[] = { 1, 2, 7, 4096 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		for (size_t k = 0; k < ARRAY_LEN(PIECES); k++) {
			struct answers a = { 0 };
			const char *at = CASES[i].said;
			size_t left = strlen(at);

			while (left > 0) {
				size_t n = left < PIECES[k] ? left : PIECES[k];

				answers_read(&a, at, n);
				at += n;
				left -= n;
			}
			if (a.ended != CASES[i].ended ||
			    a.exit_code != CASES[i].exit_code ||
			    a.ready != CASES[i].ready)
				fail_msg("%s: %d %d %d", CASES[i].name,
				    (int)a.ended, a.exit_code, (int)a.ready);
			assert_int_equal(a.exports.len,
			    strlen(CASES[i].exports));
			if (a.exports.len > 0)
				assert_string_equal(a.exports.data,
				    CASES[i].exports);
			answers_reset(&a);
		}
	}
}

static void
too_many_exports_are_none(void **state)
{
	struct answers a = { 0 };
	char piece[1024];

	(void)state;
	memset(piece, 'a', sizeof(piece));
	answers_read(&a, "e 1\n", 4);
	for (int i = 0; i < ANSWERS_EXPORTS_MAX / (int)sizeof(piece) + 1; i++)
		answers_read(&a, piece, sizeof(piece));
	assert_in_range(a.gathered.len, 1, ANSWERS_EXPORTS_MAX);
	answers_read(&a, "\nd 1\nx 2 0\n", 11);
	assert_int_equal(a.ready, 1);
	assert_int_equal(a.ended, 2);
	assert_int_equal(a.exports.len, 0);
	answers_read(&a, "e 2\nA\nd 2\n", 10);
	assert_string_equal(a.exports.data, "A\n");
	answers_reset(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_mean_the_same_in_any_pieces),
		cmocka_unit_test(too_many_exports_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
