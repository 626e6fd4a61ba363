/*
 * args.h: parses the options and operands of a command by its row.
 */
#ifndef SANDLEASE_ADMIN_ARGS_H
#define SANDLEASE_ADMIN_ARGS_H

#include "admin/command.h"

/*
 * Reads options and operands of `c` into *a.  Moves the operands to the front
 * of argv, and keeps pointers into it.  ERR_INVALID names an option that is
 * unknown, given twice or without its value.
 */
int args_parse(const struct command *c, int argc, char **argv, struct admin *a,
    struct err *e) MUST_CHECK;

#endif
