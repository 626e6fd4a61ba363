/* command.c: one command of the operator's: its words, its options, its help. */
#include "admin/command.h"

#include <string.h>

#include "common/mem.h"
#include "common/str.h"

/* clang-format off */
/* Each is for commands whose output is at least this. */
static const struct {
	enum command_output from;
	struct option_row row;
} COMMON[] = {
	{ PRINTS_ONE,   { "--json",   NULL,   "JSON: a document on one line; of rows a line each" } },
	{ PRINTS_MANY,  { "--limit",  "N",    "how many rows at most; 1000 by default, 0 for all" } },
	{ PRINTS_WORDS, { "--config", "FILE", "the settings" } },
	{ PRINTS_WORDS, { "--help",   NULL,   "this" } },
};
/* clang-format on */

static bool
is_named(const struct option_row *o, const char *name, size_t len)
{
	return strlen(o->name) == len && strncmp(o->name, name, len) == 0;
}

const struct option_row *
command_option(const struct command *c, const char *name, size_t len)
{
	for (const struct option_row *o = c->options;
	     o != NULL && o->name != NULL; o++)
		if (is_named(o, name, len))
			return o;
	for (size_t i = 0; i < ARRAY_LEN(COMMON); i++)
		if (c->output >= COMMON[i].from &&
		    is_named(&COMMON[i].row, name, len))
			return &COMMON[i].row;
	return NULL;
}

static void
print_option(const struct option_row *o, FILE *to)
{
	auto_free char *name = xasprintf("%s%s%s", o->name,
	    o->value != NULL ? " " : "", o->value != NULL ? o->value : "");

	fprintf(to, "  %-*s %s\n", COMMAND_INDENT, name, o->help);
}

void
command_print_help(const struct command *c, FILE *to)
{
	fprintf(to, "usage: sandlease-admin %s%s%s [options]\n%s\n", c->words,
	    str_empty(c->operands) ? "" : " ", c->operands, c->help);
	for (const struct option_row *o = c->options;
	     o != NULL && o->name != NULL; o++)
		print_option(o, to);
	for (size_t i = 0; i < ARRAY_LEN(COMMON); i++)
		if (c->output >= COMMON[i].from)
			print_option(&COMMON[i].row, to);
}
