/*
 * args.h: what was typed, by the row of its command.
 */
#ifndef SANDLEASE_ADMIN_ARGS_H
#define SANDLEASE_ADMIN_ARGS_H

#include "admin/command.h"

/*
 * Reads options and operands of `c` into *a; argv is reordered and borrowed.
 * ERR_INVALID "usage" names what is unknown, given twice or lacks its value.
 */
int args_parse(const struct command *c, int argc, char **argv, struct admin *a,
    struct err *e) MUST_CHECK;

#endif
