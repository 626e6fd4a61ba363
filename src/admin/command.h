/*
 * command.h: one command of the operator's: its words, its options, its help.
 *
 * Which commands there are is commands.h's.
 */
#ifndef SANDLEASE_ADMIN_COMMAND_H
#define SANDLEASE_ADMIN_COMMAND_H

#include <stdio.h>

#include "admin/admin.h"

enum { COMMAND_INDENT = 20 }; /* of what a command or an option is for */

struct option_row {
	const char *name;  /* "--org"; NULL ends the rows */
	const char *value; /* its word; NULL: a flag */
	const char *help;
};

/* The form of a command's output, which decides its common options. */
enum command_output {
	PRINTS_WORDS,
	PRINTS_ONE, /* a thing: --json */
	PRINTS_MANY /* rows: --json, --limit */
};

struct command {
	const char *words; /* one or two */
	command_fn *run;
	const char *operands;
	const char *help;
	const struct option_row *options; /* NULL: none of its own */
	enum command_output output;
	bool as_caller; /* writes where only the operator may */
};

/* The row of an option of this command, its own or a common one; or NULL. */
const struct option_row *command_option(const struct command *c,
    const char *name, size_t len);

/* How it is typed, what it is for, and a line for each of its options. */
void command_print_help(const struct command *c, FILE *to);

#endif
