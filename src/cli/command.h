/*
 * command.h: finds a command in the table, and lets it call another one.
 *
 * The rows are in cmd/commands.c.  A command that needs all rows, such as help,
 * gets the table from main() in struct cli.  If it included cmd/commands.c's
 * table itself, that file and the command would depend on each other.
 */
#ifndef SANDLEASE_CLI_COMMAND_H
#define SANDLEASE_CLI_COMMAND_H

#include "cli/args.h"
#include "cli/config.h"

struct client; /* http/transfer.h */

/* The first word of commands whose name has two, and a line of help. */
struct command_group {
	const char *word, *help;
};

struct command_table {
	const struct command *rows;
	size_t count;
	const struct command_group *groups;
	size_t group_count;
};

/* The context of one command that runs. */
struct cli {
	const struct command_table *table;
	struct client *client; /* NULL if the command is offline */
	struct args args;
	bool json;
};

/* The command whose name `words` begin with; *used: how many words that is.
 * NULL: there is no such command. */
const struct command *command_find(const struct command_table *t, int count,
    char *const *words, int *used);

/* The help text of the group `word`; NULL: there is no such group. */
const char *command_group(const struct command_table *t, const char *word);

/* URL, key file and profile as the common options name them. */
struct config_choice command_choice(const struct args *a);

/*
 * Prepares `inner` to run the command `name` with these operands.  It gets the
 * options of `k` that it knows, too.  Free inner->args by args_free().
 */
void command_borrow(const struct cli *k, const char *name, int count,
    char **operands, struct cli *inner);

#endif
