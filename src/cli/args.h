/*
 * args.h: the command line by table.
 *
 * A command is a row: its words, operands and options.  Help, usage errors
 * and what the shells complete all come from these rows; an operand's or
 * value's word ("ID", "PORT", "FILE") says what it is.
 */
#ifndef SANDLEASE_CLI_ARGS_H
#define SANDLEASE_CLI_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"

struct cli; /* command.h */

/* What the process ends with, or -1 with an error. */
typedef int command_fn(struct cli *k, struct err *e);

struct option_row {
	char letter;       /* 0: none */
	const char *name;  /* NULL ends the rows */
	const char *value; /* its word; NULL: a flag */
	const char *help;
};

struct command {
	const char *name; /* one word or two */
	command_fn *run;
	const char *operands; /* "ID [PROCESS]"; "..." for any number */
	const char *help;
	const struct option_row *options;
	bool passes_codes; /* exit codes are another program's; ours is 125 */
	bool offline;      /* needs no service */
	bool hidden;
};

enum {
	EXIT_USAGE = 2,
	EXIT_OURS = 125,
	EXIT_INTERRUPTED = 130,
};

extern const struct option_row COMMON_OPTIONS[];

struct args {
	const struct command *command;
	struct given {
		const struct option_row *row;
		const char *value;
	} * given;
	size_t count;
	char **operand; /* borrowed from argv */
	int operands;
};

/*
 * argv[0] is the command's last word.  A command that passes codes takes
 * everything behind its first operand as it is.
 */
int args_parse(const struct command *cmd, int argc, char **argv, struct args *a,
    struct err *e) MUST_CHECK;
void args_free(struct args *a);

/* The i-th value given for it, from 0; NULL when there is none. */
const char *args_nth(const struct args *a, const char *name, size_t i);
/* The last one. */
const char *args_value(const struct args *a, const char *name);
bool args_has(const struct args *a, const char *name);
/* A number within min..max; absent leaves *out alone. */
int args_number(const struct args *a, const char *name, int64_t min,
    int64_t max, int64_t *out, struct err *e) MUST_CHECK;

/* The row of "--name", also of a common one; NULL when there is none. */
const struct option_row *args_row(const struct command *cmd, const char *name);

/* Adds an option as if it had been typed; its row must exist. */
void args_add(struct args *a, const char *name, const char *value);

/*
 * How many of the words after "sandlease" are common options and their values,
 * before the command's name.
 */
int args_before(int count, char **words, int *before, struct err *e) MUST_CHECK;

/* "sandlease NAME [options] OPERANDS" and what is behind it. */
void args_help(const struct command *cmd, FILE *to);

#endif
