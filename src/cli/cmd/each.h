/*
 * each.h: a command that does the same with several sessions.
 */
#ifndef SANDLEASE_CLI_CMD_EACH_H
#define SANDLEASE_CLI_CMD_EACH_H

#include "cli/cmd/commands.h"

typedef int each_fn(struct cli *k, const char *id, struct err *e);

/*
 * Does it with every operand, also with those after one that failed; all
 * failures but the last, which is returned, are printed.
 */
int each_session(struct cli *k, each_fn *one, struct err *e) MUST_CHECK;

/* The same with these sessions instead of the operands. */
int each_of(struct cli *k, int count, char *const *words, each_fn *one,
    struct err *e) MUST_CHECK;

/* Prints how it is now; an error when that is not what was wanted. */
int each_say(const struct cli *k, const json_t *session, const char *wanted,
    struct err *e) MUST_CHECK;

#endif
