/* date.h: reads dates of RFC 3339. */
#ifndef SANDLEASE_API_V1_DATE_H
#define SANDLEASE_API_V1_DATE_H

#include <time.h>

#include "common/err.h"

enum { DATE_TEXT_MAX = 41 };

/*
 * Checks a date such as 2030-01-31T12:00:00Z, so that the database accepts the
 * text.  *at is the second as if the zone were Z.  The error names the field.
 */
int date_check(const char *s, const char *field, time_t *at, struct err *e)
    MUST_CHECK;

#endif
