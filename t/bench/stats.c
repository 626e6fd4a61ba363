/* stats.c: collects durations and prints their percentiles. */
#include "bench/stats.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/mem.h"

void
stats_add(struct stats *s, int64_t us)
{
	if (s->count == s->room) {
		s->room = s->room == 0 ? 64 : s->room * 2;
		s->us = xrealloc(s->us, s->room * sizeof(*s->us));
	}
	s->us[s->count++] = us;
}

static int
compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Nearest rank: the result is a measured value, never one between two. */
static double
percentile_ms(const struct stats *s, size_t percent)
{
	size_t rank = (s->count * percent + 99) / 100;

	if (s->count == 0)
		return 0;
	return (double)s->us[rank > 0 ? rank - 1 : 0] / 1000;
}

void
stats_print(struct stats *s, const char *name)
{
	if (s->count > 1)
		qsort(s->us, s->count, sizeof(*s->us), compare);
	printf("%s %zu %.3f %.3f %.3f %.3f %.3f\n", name, s->count,
	    percentile_ms(s, 0), percentile_ms(s, 50), percentile_ms(s, 95),
	    percentile_ms(s, 99), percentile_ms(s, 100));
}

void
stats_free(struct stats *s)
{
	free(s->us);
	*s = (struct stats){ 0 };
}
