/*
 * commands.h: one function per command, and the table of them.
 */
#ifndef SANDLEASE_CLI_COMMANDS_H
#define SANDLEASE_CLI_COMMANDS_H

#include "cli/args.h"
#include "cli/client.h"

/* A command at work. */
struct cli {
	struct client *client; /* NULL for one that is offline */
	struct args args;
	bool json;
};

extern const struct command COMMANDS[];
extern const size_t COMMAND_COUNT;

/* The command that words begin with; *used says how many are its name. */
const struct command *command_find(int count, char *const *words, int *used);

command_fn cmd_create, cmd_ls, cmd_exec, cmd_shell, cmd_logs, cmd_cp,
    cmd_ports_ls, cmd_ports_add, cmd_ports_rm, cmd_ports_rotate, cmd_sleep,
    cmd_resume, cmd_rm, cmd_open, cmd_doctor, cmd_complete;

#endif
