/*
 * commands.h: one function per command, and the table of them.
 */
#ifndef SANDLEASE_CLI_CMD_COMMANDS_H
#define SANDLEASE_CLI_CMD_COMMANDS_H

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

/* What the common options say of the service. */
struct config_wish command_wish(const struct args *a);

/* What the first word of commands with two is about; NULL: it is none. */
const char *command_group(const char *word);

/*
 * Makes `inner` the command of that name with these operands, and those of our
 * options that it has, too.  Free inner->args by args_free().
 */
void command_borrow(const struct cli *k, const char *name, int count,
    char **operands, struct cli *inner);

command_fn cmd_complete, cmd_cp, cmd_create, cmd_doctor, cmd_exec, cmd_extend,
    cmd_help, cmd_interrupt, cmd_kill, cmd_label, cmd_login, cmd_logout,
    cmd_logs, cmd_ls, cmd_open, cmd_port_forward, cmd_ports_add, cmd_ports_ls,
    cmd_ports_rm, cmd_ports_rotate, cmd_ps, cmd_resume, cmd_rm, cmd_run,
    cmd_shell, cmd_show, cmd_sleep, cmd_snapshot_create, cmd_snapshot_ls,
    cmd_snapshot_rm, cmd_ssh_config, cmd_stats, cmd_update, cmd_usage,
    cmd_version, cmd_whoami;

#endif
