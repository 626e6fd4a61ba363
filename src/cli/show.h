/*
 * show.h: output for people and for programs.
 *
 * What a sandbox or another user has named is shown without control
 * characters: a terminal obeys them.
 */
#ifndef SANDLEASE_CLI_SHOW_H
#define SANDLEASE_CLI_SHOW_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/json.h"

/* A JSON value on a line of its own. */
void show_json(const json_t *v);

/* Text as it is, but for control characters other than tab and newline. */
void show_text(const char *text, FILE *to);

/* What went wrong, to stderr, so that a terminal can show it. */
void show_problem(const char *text);

/* "title   value" on a line, without control characters. */
void show_field(const char *title, const char *fmt, ...) PRINTF_LIKE(2, 3);

enum { SHOW_AGE_MAX = 16 };

/* How long ago an ISO date was: "12s", "5m", "3h", "9d"; "-" for none. */
void show_age(const char *iso, char out[SHOW_AGE_MAX]);

/* "1.5 MB"; a unit is 1000 of the one before. */
void show_bytes(int64_t bytes, char out[SHOW_AGE_MAX]);

#endif
