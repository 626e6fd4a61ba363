/*
 * admin.h: the operator's commands, straight to the database.
 *
 * A command is a row (command.h).  Its options are checked against that row
 * before it runs, so a command asks only for those that it has.
 */
#ifndef SANDLEASE_ADMIN_ADMIN_H
#define SANDLEASE_ADMIN_ADMIN_H

#include <stdbool.h>
#include <stddef.h>

#include "common/conf.h"
#include "common/err.h"
#include "store/store.h"

struct command; /* command.h */

enum { ADMIN_OPTIONS_MAX = 32 };

struct admin {
	const struct conf *conf;
	struct store *store;
	const struct command *command;
	struct given {
		const char *name;  /* "--org" */
		const char *value; /* NULL: a flag */
	} given[ADMIN_OPTIONS_MAX];
	size_t given_count;
	int argc;    /* operands that nobody has taken yet */
	char **argv; /* argv[0] is the first of them */
};

typedef int command_fn(struct admin *a, struct err *e);

/* The value of option `name` ("--org"), or NULL when it was not given. */
const char *admin_option(const struct admin *a, const char *name);

/* Whether the option `name`, which has no value, was given. */
bool admin_flag(const struct admin *a, const char *name);

/* The next operand, or NULL. */
const char *admin_argument(struct admin *a);

/* ERR_INVALID naming the first operand that nobody asked for. */
int admin_no_more(struct admin *a, struct err *e) MUST_CHECK;

/* The only operand.  ERR_INVALID with the command's usage if it is not one. */
int admin_only_argument(struct admin *a, const char **out, struct err *e)
    MUST_CHECK;

/* ERR_INVALID "usage" that says how the command at hand is typed.  -1. */
int admin_usage(const struct admin *a, struct err *e);

#endif
