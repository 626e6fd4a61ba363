/*
 * commands.h: one function per command of the remote command line.
 */
#ifndef SANDLEASE_CLI_COMMANDS_H
#define SANDLEASE_CLI_COMMANDS_H

#include "cli/client.h"

typedef int command_fn(struct client *c, struct err *e);

command_fn cmd_doctor;

#endif
