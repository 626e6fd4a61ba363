/*
 * error.h: maps the error output of git to our error codes.  Pure.
 */
#ifndef SANDLEASE_AGENT_GIT_ERROR_H
#define SANDLEASE_AGENT_GIT_ERROR_H

#include <stddef.h>

#include "common/err.h"

struct git_error {
	const char *said; /* part of git's message, in lower case */
	enum err_kind kind;
	enum err_code code;
	const char *message;
};

/* The row for git's stderr, written in the C locale.  Never NULL. */
const struct git_error *git_error_find(const char *text, size_t len);

/* The line with the reason: the first "fatal: ...", else the last. */
const char *git_error_line(const char *text, size_t size, size_t *len);

#endif
