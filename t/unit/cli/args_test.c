/* args_test.c: tests the parsing of command lines by table. */
#include "t/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "cli/args.h"
#include "common/mem.h"
#include "common/str.h"

static const struct option_row ROWS[] = {
	{ 'n', "name", "NAME", "a name" },
	{ 'v', "verbose", NULL, "more" },
	{ 0, "count", "N", "a number" },
	{ 0, NULL, NULL, NULL },
};
static const struct command PLAIN = { "plain", NULL, "ID [PROCESS]", "a test",
	ROWS };
static const struct command MANY = { "many", NULL, "ID...", "a test", ROWS };
static const struct command RUNS = { "runs", NULL, "ID [COMMAND...]", "a test",
	ROWS, .passes_codes = true };

enum { WORDS_MAX = 12 };

/* Parses a line of words divided by spaces. */
static int
parse(const struct command *c, const char *line, struct args *a, struct err *e)
{
	static char text[256];
	static char *argv[WORDS_MAX];
	int argc = 0;

	str_copy(text, sizeof(text), line);
	for (char *s = text; *s != '\0' && argc < WORDS_MAX - 1;) {
		char *end = s + strcspn(s, " ");

		argv[argc++] = s;
		s = *end != '\0' ? end + 1 : end;
		*end = '\0';
	}
	argv[argc] = NULL;
	return args_parse(c, argc, argv, a, e);
}

static void
options_and_operands_mix(void **state)
{
	struct err e = { 0 };
	struct args a;

	(void)state;
	assert_int_equal(
	    parse(&PLAIN, "plain --name x one -v two --name=y", &a, &e), 0);
	assert_string_equal(args_value(&a, "name"), "y");
	assert_string_equal(args_nth(&a, "name", 0), "x");
	assert_null(args_nth(&a, "name", 2));
	assert_true(args_has(&a, "verbose"));
	assert_false(args_has(&a, "json"));
	assert_int_equal(a.operands, 2);
	assert_string_equal(a.operand[1], "two");
	args_free(&a);
}

static void
what_follows_the_first_operand_is_a_commands(void **state)
{
	struct err e = { 0 };
	struct args a;

	(void)state;
	assert_int_equal(parse(&RUNS, "runs -v one ls --name -l", &a, &e), 0);
	assert_true(args_has(&a, "verbose"));
	assert_null(args_value(&a, "name"));
	assert_int_equal(a.operands, 4);
	assert_string_equal(a.operand[3], "-l");
	args_free(&a);
}

static void
mistakes_are_named(void **state)
{
	static const struct {
		const struct command *cmd;
		const char *line, *want;
	} CASES[] = {
		{ &PLAIN, "plain", "usage: sandlease plain" },
		{ &PLAIN, "plain a b c", "usage: sandlease plain" },
		{ &PLAIN, "plain --bogus a", "--bogus is no option" },
		{ &PLAIN, "plain -x a", "-x is no option" },
		{ &PLAIN, "plain a --name", "--name needs a value" },
		{ &MANY, "many", "usage: sandlease many" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		struct err e = { 0 };
		struct args a;

		assert_int_equal(parse(CASES[i].cmd, CASES[i].line, &a, &e),
		    -1);
		assert_code(e.code, CODE_USAGE);
		assert_true(str_starts(e.msg, CASES[i].want));
		args_free(&a);
	}
}

static void
any_number_of_operands_and_help_without_any(void **state)
{
	struct err e = { 0 };
	struct args a;

	(void)state;
	assert_int_equal(parse(&MANY, "many a b c d", &a, &e), 0);
	assert_int_equal(a.operands, 4);
	args_free(&a);
	assert_int_equal(parse(&MANY, "many --help", &a, &e), 0);
	args_free(&a);
}

static void
numbers_have_bounds(void **state)
{
	struct err e = { 0 };
	struct args a;
	int64_t n = 7;

	(void)state;
	assert_int_equal(parse(&PLAIN, "plain a", &a, &e), 0);
	assert_int_equal(args_number(&a, "count", 1, 9, &n, &e), 0);
	assert_int_equal(n, 7);
	args_free(&a);
	assert_int_equal(parse(&PLAIN, "plain a --count 10", &a, &e), 0);
	assert_int_equal(args_number(&a, "count", 1, 9, &n, &e), -1);
	assert_int_equal(args_number(&a, "count", 1, 10, &n, &e), 0);
	assert_int_equal(n, 10);
	args_free(&a);
}

static void
common_options_may_precede_a_command(void **state)
{
	static const struct {
		const char *words[4];
		int count, before; /* -1: refused */
	} CASES[] = {
		{ { "ls", "-q" }, 2, 0 },
		{ { "--url", "U", "ls" }, 3, 2 },
		{ { "--json", "--url=U", "ls", "--all" }, 4, 2 },
		{ { "--all", "ls" }, 2, -1 },
		{ { "--url" }, 1, -1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		char *words[5] = { NULL };
		struct err e = { 0 };
		int before = -2, rc;

		for (int k = 0; k < CASES[i].count; k++)
			words[k] = xstrdup(CASES[i].words[k]);
		rc = args_before(CASES[i].count, words, &before, &e);
		assert_int_equal(rc < 0 ? -1 : before, CASES[i].before);
		for (int k = 0; k < CASES[i].count; k++)
			free(words[k]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_and_operands_mix),
		cmocka_unit_test(what_follows_the_first_operand_is_a_commands),
		cmocka_unit_test(mistakes_are_named),
		cmocka_unit_test(any_number_of_operands_and_help_without_any),
		cmocka_unit_test(numbers_have_bounds),
		cmocka_unit_test(common_options_may_precede_a_command),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
