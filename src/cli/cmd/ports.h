/*
 * ports.h: a port of a session and its preview, for `ports` and `open`.
 */
#ifndef SANDLEASE_CLI_CMD_PORTS_H
#define SANDLEASE_CLI_CMD_PORTS_H

#include "cli/cmd/commands.h"

/* The preview of the port that the operands name, made unless it is there. */
int ports_expose(struct cli *k, json_t **out, struct err *e) MUST_CHECK;

/* Prints its URL; EXIT_SUCCESS. */
int ports_show(const struct cli *k, const json_t *port);

#endif
