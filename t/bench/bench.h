/* bench.h: makes the requests of one run of `load` and keeps their times. */
#ifndef SANDLEASE_BENCH_BENCH_H
#define SANDLEASE_BENCH_BENCH_H

#include <stdio.h>

#include "bench/stats.h"
#include "bench/visit.h"
#include "common/json.h"

enum { COUNT_MAX = 10000 };

struct bench {
	struct place place;
	struct visit *visits;
	size_t count;
	size_t turns; /* requests per visit */
	struct stats create, command, both, local;
	FILE *ids;
};

/* The answer as JSON; NULL when the answer is not JSON. */
json_t *bench_answer(const struct visit *v);

void bench_open(struct bench *b, size_t count);
void bench_close(struct bench *b);
int bench_failures(const struct bench *b, struct err *e) MUST_CHECK;

/* Reads the ids that `load start` or `load hang` wrote; the caller frees. */
int bench_ids(const char *file, char (**ids)[VISIT_ID_MAX], size_t *count,
    struct err *e) MUST_CHECK;

/*
 * argv: the file of sessions, and how many requests each visit makes.  Makes a
 * visit for each of the first `max` sessions of the file.
 */
int bench_sessions(struct bench *b, char **argv, size_t max, struct err *e)
    MUST_CHECK;

/* Sets up the visit's next request, to the data plane of its session. */
void bench_ask(struct bench *b, struct visit *v, const char *method,
    const char *path, const char *body);

#endif
