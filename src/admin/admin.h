/*
 * admin.h: gives a command of the operator its options and operands.
 *
 * The commands use the database directly.  A command is a row (command.h).  The
 * program checks the options against that row before the command runs; a
 * command must ask only for options of its row.
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
	int argc;    /* operands that admin_argument() has not returned yet */
	char **argv; /* argv[0] is the first of them */
};

typedef int command_fn(struct admin *a, struct err *e);

/* The value of option `name` ("--org"), or NULL when it was not given. */
const char *admin_option(const struct admin *a, const char *name);

/* Whether the option `name`, which has no value, was given. */
bool admin_flag(const struct admin *a, const char *name);

/* The next operand, or NULL. */
const char *admin_argument(struct admin *a);

/* ERR_INVALID if an operand is left; the error names it. */
int admin_no_more(struct admin *a, struct err *e) MUST_CHECK;

/* *out is the only operand.  ERR_INVALID if there is none, or more than one. */
int admin_only_argument(struct admin *a, const char **out, struct err *e)
    MUST_CHECK;

/* Sets the error that there is no such org.  Returns -1. */
int admin_unknown_org(const char *org, struct err *e);

/* Sets the error ERR_INVALID with the usage of the command.  Returns -1. */
int admin_usage(const struct admin *a, struct err *e);

#endif
