/*
 * help.h: prints help texts from the table of commands.
 */
#ifndef SANDLEASE_CLI_CMD_HELP_H
#define SANDLEASE_CLI_CMD_HELP_H

#include <stdio.h>

#include "cli/command.h"
#include "common/err.h"

/* Prints all commands, and where to read more. */
void help_usage(const struct command_table *t, FILE *to);

/* Prints a line for each command whose first word is `group`; NULL: for all. */
void help_commands(const struct command_table *t, const char *group, FILE *to);

/* Sets the error for words that name no command; it suggests a near one. */
int help_unknown(const struct command_table *t, int count, char *const *words,
    struct err *e) MUST_CHECK;

#endif
