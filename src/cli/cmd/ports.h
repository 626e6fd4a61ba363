/*
 * ports.h: makes and prints a preview URL, for `ports` and `open`.
 */
#ifndef SANDLEASE_CLI_CMD_PORTS_H
#define SANDLEASE_CLI_CMD_PORTS_H

#include "cli/cmd/commands.h"

/* Gets the preview of the port that the operands name; makes it if needed. */
int ports_expose(struct cli *k, json_t **out, struct err *e) MUST_CHECK;

/* Prints the preview's URL.  Returns EXIT_SUCCESS. */
int ports_show(const struct cli *k, const json_t *port);

#endif
