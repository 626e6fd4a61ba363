/* command.c: finds an option of a command, and prints the command's help. */
#include "admin/command.h"

#include <string.h>

#include "common/mem.h"
#include "common/str.h"

/* clang-format off */
/* Each is an option of commands whose `output` is at least `from`. */
static const struct {
	enum command_output from;
	struct option_row row;
} COMMON[] = {
	{ PRINTS_ONE,   { "--json",   NULL,   "print JSON: one object on a line, or a line for each row" } },
	{ PRINTS_MANY,  { "--limit",  "N",    "print at most this many rows; default 1000, 0: all" } },
	{ PRINTS_WORDS, { "--config", "FILE", "read settings from this file" } },
	{ PRINTS_WORDS, { "--help",   NULL,   "print this help" } },
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
