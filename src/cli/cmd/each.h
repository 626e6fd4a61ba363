/*
 * each.h: runs a function for each of several sessions.
 */
#ifndef SANDLEASE_CLI_CMD_EACH_H
#define SANDLEASE_CLI_CMD_EACH_H

#include "cli/cmd/commands.h"

typedef int each_fn(struct cli *k, const char *id, struct err *e);

/*
 * Calls `one` for the session of every operand, also after a failure.  Returns
 * the last failure, and prints the others.
 */
int each_session(struct cli *k, each_fn *one, struct err *e) MUST_CHECK;

/* The same for the sessions `words` instead of the operands. */
int each_of(struct cli *k, int count, char *const *words, each_fn *one,
    struct err *e) MUST_CHECK;

/* Prints the session's state; an error if it is not `wanted`. */
int each_say(const struct cli *k, const json_t *session, const char *wanted,
    struct err *e) MUST_CHECK;

#endif
