/*
 * create.h: a session made of options, for `create` and `run`.
 */
#ifndef SANDLEASE_CLI_CMD_CREATE_H
#define SANDLEASE_CLI_CMD_CREATE_H

#include "cli/cmd/commands.h"

/*
 * Makes a session of the options of `create`, and waits until it is ready, has
 * failed, or the time is over (-1: as long as it takes).  What its setup prints
 * goes to stderr.
 */
int create_session(struct cli *k, int64_t wait_s, json_t **out, struct err *e)
    MUST_CHECK;

#endif
