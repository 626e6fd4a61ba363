/*
 * pairs.h: options of the form KEY=VALUE.
 */
#ifndef SANDLEASE_CLI_PAIRS_H
#define SANDLEASE_CLI_PAIRS_H

#include "cli/args.h"
#include "common/json.h"

/* All that were given for `option`, as the object body[field]. */
int pairs_add(const struct args *a, const char *option, json_t *body,
    const char *field, struct err *e) MUST_CHECK;

#endif
