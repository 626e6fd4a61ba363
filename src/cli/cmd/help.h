/*
 * help.h: what the program says of itself, from the table of commands.
 */
#ifndef SANDLEASE_CLI_CMD_HELP_H
#define SANDLEASE_CLI_CMD_HELP_H

#include <stdio.h>

#include "cli/command.h"
#include "common/err.h"

/* All commands, and where to read more. */
void help_usage(const struct command_table *t, FILE *to);

/* A line for each command whose first word is `group`; NULL: for all. */
void help_commands(const struct command_table *t, const char *group, FILE *to);

/* The error for words that name no command, with the one that was meant. */
int help_unknown(const struct command_table *t, int count, char *const *words,
    struct err *e) MUST_CHECK;

#endif
