/* args.c: parses a command's options and operands by its row in the table. */
#include "cli/args.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/str.h"

enum { ROWS_MAX = 40, LONG_ONLY = 256 };

const struct option_row COMMON_OPTIONS[] = {
	{ 0, "json", NULL, "print the API's answer, one JSON value per line" },
	{ 0, "url", "URL", "URL of the service, instead of SANDLEASE_URL" },
	{ 0, "api-key-file", "FILE", "read the API key from this file" },
	{ 0, "profile", "PROFILE",
	    "use the URL and key that login stored under this name" },
	{ 'h', "help", NULL, "print this help" },
	{ 0, NULL, NULL, NULL },
};

/* ---- rows */

/* The i-th option of cmd, its own before the common ones; NULL: no more. */
static const struct option_row *
row_at(const struct command *cmd, size_t i)
{
	size_t own = 0;

	while (cmd->options != NULL && cmd->options[own].name != NULL)
		own++;
	if (i < own)
		return &cmd->options[i];
	i -= own;
	return COMMON_OPTIONS[i].name != NULL ? &COMMON_OPTIONS[i] : NULL;
}

const struct option_row *
args_row(const struct command *cmd, const char *name)
{
	const struct option_row *r;

	for (size_t i = 0; (r = row_at(cmd, i)) != NULL; i++)
		if (str_equal(r->name, name))
			return r;
	return NULL;
}

/* Counts the operands that `words` ("ID [PROCESS]") requires, and in *max those
 * that it allows: -1 for any number. */
static int
operand_bounds(const char *words, int *max)
{
	int min = 0, all = 0;

	for (const char *s = words; *s != '\0'; s += strcspn(s, " ")) {
		s += strspn(s, " ");
		if (*s == '\0')
			break;
		all++;
		if (*s != '[')
			min++;
	}
	*max = strstr(words, "...") != NULL ? -1 : all;
	return min;
}

/* ---- parsing */

struct tables {
	struct option longs[ROWS_MAX + 1];
	char letters[2 * ROWS_MAX + 3];
	const struct option_row *row[ROWS_MAX];
};

static void
make_tables(const struct command *cmd, struct tables *t)
{
	char *s = t->letters;

	if (cmd->passes_codes)
		*s++ = '+'; /* no options after the first operand */
	*s++ = ':';
	for (size_t i = 0; i < ROWS_MAX && (t->row[i] = row_at(cmd, i)) != NULL;
	     i++) {
		t->longs[i] = (struct option){ .name = t->row[i]->name,
			.has_arg = t->row[i]->value != NULL,
			.val = LONG_ONLY + (int)i };
		if (t->row[i]->letter == 0)
			continue;
		*s++ = t->row[i]->letter;
		if (t->row[i]->value != NULL)
			*s++ = ':';
	}
	*s = '\0';
}

static const struct option_row *
row_of(const struct tables *t, int got)
{
	if (got >= LONG_ONLY)
		return t->row[got - LONG_ONLY];
	for (size_t i = 0; i < ROWS_MAX && t->row[i] != NULL; i++)
		if (t->row[i]->letter == got)
			return t->row[i];
	return NULL;
}

static int
bad_option(const struct command *cmd, const char *word, int got, struct err *e)
{
	if (got == ':')
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "%.60s needs a value", word);
	if (cmd->name[0] == '\0')
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "%.60s is no option; see sandlease --help", word);
	return err_set(e, ERR_INVALID, CODE_USAGE,
	    "%.60s is no option of \"%s\"; see sandlease %s --help", word,
	    cmd->name, cmd->name);
}

static int
count_operands(const struct args *a, struct err *e)
{
	int max, min = operand_bounds(a->command->operands, &max);

	if (a->operands >= min && (max < 0 || a->operands <= max))
		return 0;
	return err_set(e, ERR_INVALID, CODE_USAGE,
	    "usage: sandlease %s [options]%s%s", a->command->name,
	    a->command->operands[0] != '\0' ? " " : "", a->command->operands);
}

int
args_parse(const struct command *cmd, int argc, char **argv, struct args *a,
    struct err *e)
{
	struct tables t = { 0 };
	int got;

	*a = (struct args){ .command = cmd };
	a->given = xcalloc((size_t)argc + 1, sizeof(*a->given));
	make_tables(cmd, &t);
	opterr = 0;
	optind = 0; /* glibc: reset getopt, which may have run before */
	while ((got = getopt_long(argc, argv, t.letters, t.longs, NULL)) >= 0) {
		const struct option_row *r = row_of(&t, got);

		if (r == NULL)
			return bad_option(cmd, argv[optind - 1], got, e);
		a->given[a->count++] = (struct given){ r, optarg };
	}
	a->operand = argv + optind;
	a->operands = argc - optind;
	return args_has(a, "help") ? 0 : count_operands(a, e);
}

int
args_before(int count, char **words, int *before, struct err *e)
{
	static const struct command NONE = { .name = "",
		.operands = "[WORD...]",
		.passes_codes = true };
	static char program[] = "sandlease";
	auto_free char **argv = xcalloc((size_t)count + 2, sizeof(*argv));
	struct args a;
	int rc;

	argv[0] = program;
	memcpy(argv + 1, words, (size_t)count * sizeof(*argv));
	rc = args_parse(&NONE, count + 1, argv, &a, e);
	*before = count - a.operands;
	args_free(&a);
	return rc;
}

void
args_add(struct args *a, const char *name, const char *value)
{
	a->given = xrealloc(a->given, (a->count + 1) * sizeof(*a->given));
	a->given[a->count++] =
	    (struct given){ args_row(a->command, name), value };
}

void
args_free(struct args *a)
{
	free(a->given);
	a->given = NULL;
}

/* ---- asking */

const char *
args_nth(const struct args *a, const char *name, size_t i)
{
	for (size_t k = 0; k < a->count; k++)
		if (str_equal(a->given[k].row->name, name) && i-- == 0)
			return a->given[k].value;
	return NULL;
}

const char *
args_value(const struct args *a, const char *name)
{
	const char *found = NULL;

	for (size_t k = 0; k < a->count; k++)
		if (str_equal(a->given[k].row->name, name))
			found = a->given[k].value;
	return found;
}

bool
args_has(const struct args *a, const char *name)
{
	for (size_t k = 0; k < a->count; k++)
		if (str_equal(a->given[k].row->name, name))
			return true;
	return false;
}

int
args_number(const struct args *a, const char *name, int64_t min, int64_t max,
    int64_t *out, struct err *e)
{
	const char *text = args_value(a, name);

	if (text == NULL || str_to_int(text, min, max, out))
		return 0;
	return err_set(e, ERR_INVALID, CODE_USAGE,
	    "--%s takes a number from %lld to %lld, not \"%.40s\"", name,
	    (long long)min, (long long)max, text);
}

/* ---- help */

static void
print_row(const struct option_row *r, FILE *to)
{
	auto_free char *left = xasprintf("--%s%s%s", r->name,
	    r->value != NULL ? " " : "", r->value != NULL ? r->value : "");

	if (r->letter != 0)
		fprintf(to, "  -%c, %-20s %s\n", r->letter, left, r->help);
	else
		fprintf(to, "      %-20s %s\n", left, r->help);
}

void
args_help(const struct command *cmd, FILE *to)
{
	const struct option_row *r;

	fprintf(to, "usage: sandlease %s [options]%s%s\n%s\n\n", cmd->name,
	    cmd->operands[0] != '\0' ? " " : "", cmd->operands, cmd->help);
	for (size_t i = 0; (r = row_at(cmd, i)) != NULL; i++)
		print_row(r, to);
}
