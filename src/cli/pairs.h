/*
 * pairs.h: turns options of the form KEY=VALUE into a JSON object.
 */
#ifndef SANDLEASE_CLI_PAIRS_H
#define SANDLEASE_CLI_PAIRS_H

#include "cli/args.h"
#include "common/json.h"

/* Sets body[field] to an object of all values of `option`; none: no change. */
int pairs_add(const struct args *a, const char *option, json_t *body,
    const char *field, struct err *e) MUST_CHECK;

#endif
