/*
 * commands.h: declares the table of commands, and a function for each.
 */
#ifndef SANDLEASE_CLI_CMD_COMMANDS_H
#define SANDLEASE_CLI_CMD_COMMANDS_H

#include "cli/command.h"
#include "cli/http/client.h"

extern const struct command_table COMMANDS;

command_fn cmd_complete, cmd_cp, cmd_create, cmd_doctor, cmd_exec, cmd_extend,
    cmd_help, cmd_interrupt, cmd_kill, cmd_label, cmd_login, cmd_logout,
    cmd_logs, cmd_ls, cmd_open, cmd_port_forward, cmd_ports_add, cmd_ports_ls,
    cmd_ports_rm, cmd_ports_rotate, cmd_ps, cmd_resume, cmd_rm, cmd_run,
    cmd_shell, cmd_show, cmd_sleep, cmd_snapshot_create, cmd_snapshot_ls,
    cmd_snapshot_rm, cmd_ssh_config, cmd_stats, cmd_update, cmd_usage,
    cmd_version, cmd_whoami;

#endif
