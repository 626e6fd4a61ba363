/*
 * clock.h: measures durations and deadlines.
 *
 * The database decides what time it is.  C only measures how long something
 * took and when to give up.
 */
#ifndef SANDLEASE_COMMON_CLOCK_H
#define SANDLEASE_COMMON_CLOCK_H

#include <stddef.h>
#include <stdint.h>

enum { CLOCK_ISO_MAX = 32 };

/* Milliseconds of the monotonic clock. */
int64_t clock_ms(void);

/* Microseconds of the monotonic clock. */
int64_t clock_us(void);

/* Milliseconds left until `deadline_ms` of clock_ms(), never below 0. */
int clock_left_ms(int64_t deadline_ms);

/*
 * Milliseconds since 1970 by the wall clock: only to find out how long ago
 * another process did something.
 */
int64_t clock_wall_ms(void);

/* The wall clock as ISO 8601 in UTC with milliseconds, for people only. */
void clock_iso(char out[CLOCK_ISO_MAX]);

#endif
