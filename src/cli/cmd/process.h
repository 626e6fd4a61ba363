/*
 * process.h: lists background processes of a session, for `ps` and `logs`.
 */
#ifndef SANDLEASE_CLI_CMD_PROCESS_H
#define SANDLEASE_CLI_CMD_PROCESS_H

#include "cli/cmd/commands.h"

/* Prints the processes that run; with `ended` also those that have ended. */
int processes_list(struct cli *k, const char *id, bool ended, struct err *e)
    MUST_CHECK;

#endif
