/*
 * command.h: describes a command of the operator: its name, options and help.
 *
 * The table of commands is in commands.c.
 */
#ifndef SANDLEASE_ADMIN_COMMAND_H
#define SANDLEASE_ADMIN_COMMAND_H

#include <stdio.h>

#include "admin/admin.h"

enum { COMMAND_INDENT = 20 }; /* width of a name before its help text */

struct option_row {
	const char *name;  /* "--org"; NULL ends the rows */
	const char *value; /* word for its value, "ORG"; NULL: a flag */
	const char *help;
};

/* The form of a command's output, which decides its common options. */
enum command_output {
	PRINTS_WORDS,
	PRINTS_ONE, /* one object: has --json */
	PRINTS_MANY /* rows: has --json and --limit */
};

struct command {
	const char *words; /* its name, one word or two */
	command_fn *run;
	const char *operands;
	const char *help;
	const struct option_row *options; /* NULL: none of its own */
	enum command_output output;
	bool as_caller; /* does not drop root: writes files of the operator */
};

/* The row of option `name` of `len` bytes, one of the command's own or a common
 * one; or NULL. */
const struct option_row *command_option(const struct command *c,
    const char *name, size_t len);

/* Prints the command's usage, what it does, and a line for each option. */
void command_print_help(const struct command *c, FILE *to);

#endif
