/*
 * error.h: what git's last words mean to a program.  Pure.
 */
#ifndef SANDLEASE_AGENT_GIT_ERROR_H
#define SANDLEASE_AGENT_GIT_ERROR_H

#include <stddef.h>

#include "common/err.h"

struct git_error {
	const char *said; /* in lower case; "" at the end of the table */
	enum err_kind kind;
	enum err_code code;
	const char *message;
};

/* The row for what git said on stderr, in the C locale.  Never NULL. */
const struct git_error *git_error_find(const char *text, size_t len);

/* The line that says why: the first fatal one, else the last.  *len of it. */
const char *git_error_line(const char *text, size_t size, size_t *len);

#endif
