/*
 * args.h: parses a command's options and operands by its row in the table.
 *
 * A command is a row: its name, operands and options.  Help texts, usage
 * errors and the completion of shells come from these rows.  The word for an
 * operand or a value ("ID", "PORT", "FILE") tells complete.c what to offer.
 */
#ifndef SANDLEASE_CLI_ARGS_H
#define SANDLEASE_CLI_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"

struct cli; /* command.h */

/* Carries a command out.  Returns the exit code, or -1 with an error. */
typedef int command_fn(struct cli *k, struct err *e);

struct option_row {
	char letter;       /* 0: none */
	const char *name;  /* NULL ends the rows */
	const char *value; /* word for its value, "PORT"; NULL: a flag */
	const char *help;
};

struct command {
	const char *name; /* one word or two */
	command_fn *run;
	const char *operands; /* "ID [PROCESS]"; "..." for any number */
	const char *help;
	const struct option_row *options;
	bool passes_codes; /* the exit code is that of the command it runs; an
			      error of ours is EXIT_OURS */
	bool offline;      /* needs no service */
	bool hidden;       /* not in help texts */
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
 * Parses argv, of which argv[0] is the last word of the command's name.  With
 * cmd->passes_codes, all words after the first operand are operands, too.
 */
int args_parse(const struct command *cmd, int argc, char **argv, struct args *a,
    struct err *e) MUST_CHECK;
void args_free(struct args *a);

/* The i-th value given for option `name`, from 0; NULL: there is none. */
const char *args_nth(const struct args *a, const char *name, size_t i);
/* The last value given for option `name`. */
const char *args_value(const struct args *a, const char *name);
bool args_has(const struct args *a, const char *name);
/* The value of `name` as a number in min..max; not given: *out is unchanged. */
int args_number(const struct args *a, const char *name, int64_t min,
    int64_t max, int64_t *out, struct err *e) MUST_CHECK;

/* The row of "--name", one of cmd's own or a common one; NULL: no such row. */
const struct option_row *args_row(const struct command *cmd, const char *name);

/* Adds an option as if it had been typed; its row must exist. */
void args_add(struct args *a, const char *name, const char *value);

/*
 * How many of the words after "sandlease" are common options and their values,
 * before the command's name.
 */
int args_before(int count, char **words, int *before, struct err *e) MUST_CHECK;

/* Prints "usage: sandlease NAME ...", what cmd does, and its options. */
void args_help(const struct command *cmd, FILE *to);

#endif
