/*
 * create.h: creates a session from options, for `create` and `run`.
 */
#ifndef SANDLEASE_CLI_CMD_CREATE_H
#define SANDLEASE_CLI_CMD_CREATE_H

#include "cli/cmd/commands.h"

/*
 * Creates a session from the options of `create`, and waits until it is ready,
 * has failed, or wait_s is over (-1: never).  The output of its setup goes to
 * stderr.
 */
int create_session(struct cli *k, int64_t wait_s, json_t **out, struct err *e)
    MUST_CHECK;

#endif
