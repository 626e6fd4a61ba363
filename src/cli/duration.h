/*
 * duration.h: times as people write them: 90, 30s, 10m, 2h, 1d.
 */
#ifndef SANDLEASE_CLI_DURATION_H
#define SANDLEASE_CLI_DURATION_H

#include <stdint.h>

#include "common/err.h"

/*
 * Seconds from such a text, within min..max.  `name` is for the error, such as
 * "--max-run".
 */
int duration_parse(const char *name, const char *text, int64_t min, int64_t max,
    int64_t *seconds, struct err *e) MUST_CHECK;

#endif
