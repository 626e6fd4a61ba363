/* stats.h: collects durations and prints their percentiles. */
#ifndef SANDLEASE_BENCH_STATS_H
#define SANDLEASE_BENCH_STATS_H

#include <stddef.h>
#include <stdint.h>

/* Starts with { 0 }; stats_free() ends it. */
struct stats {
	int64_t *us;
	size_t count;
	size_t room;
};

void stats_add(struct stats *s, int64_t us);

/* Prints one line: name, count, least, p50, p95, p99, most; in milliseconds. */
void stats_print(struct stats *s, const char *name);

void stats_free(struct stats *s);

#endif
