/*
 * schedule.h: reads cron expressions.
 *
 * The times themselves are found by schedule_next() in SQL, which knows time
 * zones: sql/functions/trigger.sql.
 */
#ifndef SANDLEASE_DOMAIN_SCHEDULE_H
#define SANDLEASE_DOMAIN_SCHEDULE_H

#include "common/err.h"
#include "common/json.h"

enum { SCHEDULE_TEXT_MAX = 256, SCHEDULE_ZONE_MAX = 64 }; /* with the NUL */

enum schedule_part {
	SCHEDULE_MINUTE,
	SCHEDULE_HOUR,
	SCHEDULE_DAY,
	SCHEDULE_MONTH,
	SCHEDULE_WEEKDAY,
	SCHEDULE__MAX
};

/* Bit n of a set: the value n is in it.  Sunday is 0. */
struct schedule {
	uint64_t set[SCHEDULE__MAX];
	bool either; /* a day matches by its date or by its weekday */
};

/*
 * Reads "MINUTE HOUR DAY MONTH WEEKDAY" or one of @hourly, @daily, @weekly,
 * @monthly and @yearly.  The error names the field "schedule".
 */
int schedule_parse(const char *text, struct schedule *out, struct err *e)
    MUST_CHECK;

/* The sets as schedule_next() takes them; the caller owns the object. */
json_t *schedule_json(const struct schedule *s);

/*
 * Whether this can be the name of a time zone: UTC, or an IANA name such as
 * Europe/Berlin.  PostgreSQL would take abbreviations and POSIX rules, too, which
 * mean other things in other places.
 */
bool schedule_is_zone(const char *name);

#endif
