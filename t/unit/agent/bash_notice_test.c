/*
 * bash_notice_test.c: tests that bash's own line about a killed job is told
 * from output that looks like it.
 */
#include "../unit.h"

#include <string.h>

#include "agent/run/bash_notice.h"
#include "common/mem.h"

static void
only_the_last_line_is_bash_s(void **state)
{
	static const struct {
		const char *text, *rest;
	} CASES[] = {
		{ "", "" },
		{ "Terminated\n", "" },
		{ "Killed\n", "" },
		{ "words\nTerminated\n", "words\n" },
		{ "Terminated\nTerminated\n", "Terminated\n" },
		{ "/bin/bash: line 1:    23 Killed                  make all\n",
		    "" },
		{ "bash: line 12: 1234567 Terminated   a | b\n", "" },
		{ "no newline/bash: line 1:    23 Killed     make all\n",
		    "no newline/" },
		{ "no newline/bin/bash: line 1:    23 Killed     make all\n",
		    "no newline" },
		{ "Terminated", "Terminated" },
		{ "it was Terminated\n", "it was Terminated\n" },
		{ "Terminated by me\n", "Terminated by me\n" },
		{ "Terminated\nmore\n", "Terminated\nmore\n" },
		{ "make: *** [x] Terminated\n", "make: *** [x] Terminated\n" },
		{ "bash: line 1: nosuch: command not found\n",
		    "bash: line 1: nosuch: command not found\n" },
		{ "bash: line 1: 23 Killer whale\n",
		    "bash: line 1: 23 Killer whale\n" },
		{ "bash: line : 23 Killed x\n", "bash: line : 23 Killed x\n" },
		{ "bash: line 1:\n", "bash: line 1:\n" },
		{ "bash: line 1: 23\n", "bash: line 1: 23\n" },
		{ "bash: \n", "bash: \n" },
		{ "\n", "\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
		assert_int_equal(bash_notice_strip(CASES[i].text,
				     strlen(CASES[i].text)),
		    strlen(CASES[i].rest));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_the_last_line_is_bash_s),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
