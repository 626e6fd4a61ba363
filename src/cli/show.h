/*
 * show.h: prints values for people, and JSON for programs.
 *
 * A name may come from a sandbox or from another user.  It is printed without
 * control characters, because a terminal would obey them.
 */
#ifndef SANDLEASE_CLI_SHOW_H
#define SANDLEASE_CLI_SHOW_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/json.h"

/* Prints a JSON value on a line of its own. */
void show_json(const json_t *v);

/* Prints text without control characters, except tab and newline. */
void show_text(const char *text, FILE *to);

/* Prints "sandlease: text" to stderr, without control characters. */
void show_problem(const char *text);

/* Prints "title   value" on a line, without control characters. */
void show_field(const char *title, const char *fmt, ...) PRINTF_LIKE(2, 3);

enum { SHOW_AGE_MAX = 16 };

/* How long ago an ISO date was: "12s", "5m", "3h", "9d"; "-": no date. */
void show_age(const char *iso, char out[SHOW_AGE_MAX]);

/* "1.5 MB"; a unit is 1000 of the one before. */
void show_bytes(int64_t bytes, char out[SHOW_AGE_MAX]);

#endif
