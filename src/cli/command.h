/*
 * command.h: a command at work, and the table that it was found in.
 *
 * The rows themselves are cmd/commands.c.  A command that needs all of them,
 * such as help, gets the table from main() with everything else it works on:
 * if it named that file, the file and its commands would need each other.
 */
#ifndef SANDLEASE_CLI_COMMAND_H
#define SANDLEASE_CLI_COMMAND_H

#include "cli/args.h"
#include "cli/config.h"

struct client; /* http/transfer.h */

/* The first word of commands that have two, and what they are about. */
struct command_group {
	const char *word, *help;
};

struct command_table {
	const struct command *rows;
	size_t count;
	const struct command_group *groups;
	size_t group_count;
};

/* A command at work. */
struct cli {
	const struct command_table *table;
	struct client *client; /* NULL for one that is offline */
	struct args args;
	bool json;
};

/* The command that words begin with; *used says how many are its name. */
const struct command *command_find(const struct command_table *t, int count,
    char *const *words, int *used);

/* What the commands of a group are about; NULL: there is no such group. */
const char *command_group(const struct command_table *t, const char *word);

/* What the common options say of the service. */
struct config_choice command_choice(const struct args *a);

/*
 * Makes `inner` the command of that name with these operands, and those of our
 * options that it has, too.  Free inner->args by args_free().
 */
void command_borrow(const struct cli *k, const char *name, int count,
    char **operands, struct cli *inner);

#endif
