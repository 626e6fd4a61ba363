/*
 * duration.h: parses a time (90, 30s, 10m, 2h, 1d) into seconds.
 */
#ifndef SANDLEASE_CLI_DURATION_H
#define SANDLEASE_CLI_DURATION_H

#include <stdint.h>

#include "common/err.h"

/*
 * Parses `text` into *seconds, which must be in min..max.  `name`, such as
 * "--max-run", is for the error.
 */
int duration_parse(const char *name, const char *text, int64_t min, int64_t max,
    int64_t *seconds, struct err *e) MUST_CHECK;

#endif
