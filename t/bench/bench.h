/*
 * bench.h: one run of `load`: its visits and what they took.
 */
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
	size_t turns; /* how often each asks */
	struct stats create, command, both, local;
	FILE *ids;
};

/* The answer as JSON, NULL when it is none. */
json_t *bench_answer(const struct visit *v);

void bench_open(struct bench *b, size_t count);
void bench_close(struct bench *b);
int bench_failures(const struct bench *b, struct err *e) MUST_CHECK;

/* The ids that start or hang has left; the caller frees them. */
int bench_ids(const char *file, char (**ids)[VISIT_ID_MAX], size_t *count,
    struct err *e) MUST_CHECK;

/*
 * argv: file and how often.  A visit for each of the first `max` sessions of
 * the file.
 */
int bench_sessions(struct bench *b, char **argv, size_t max, struct err *e)
    MUST_CHECK;

/* The visit's next request: of its session's data plane. */
void bench_ask(struct bench *b, struct visit *v, const char *method,
    const char *path, const char *body);

#endif
