/* clock.c: measures durations, and writes a time stamp for people. */
#include "common/clock.h"

#include <limits.h>
#include <stdio.h>
#include <time.h>

int64_t
clock_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

int64_t
clock_ms(void)
{
	return clock_us() / 1000;
}

int64_t
clock_wall_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int
clock_left_ms(int64_t deadline_ms)
{
	int64_t left = deadline_ms - clock_ms();

	if (left <= 0)
		return 0;
	return left > INT_MAX ? INT_MAX : (int)left;
}

void
clock_iso(char out[CLOCK_ISO_MAX])
{
	struct timespec ts;
	struct tm tm;
	size_t n;

	clock_gettime(CLOCK_REALTIME, &ts);
	gmtime_r(&ts.tv_sec, &tm);
	n = strftime(out, CLOCK_ISO_MAX, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(out + n, CLOCK_ISO_MAX - n, ".%03dZ",
	    (int)(ts.tv_nsec / 1000000) % 1000);
}
