/* work.h: measures commands, code and streams in sessions that exist. */
#ifndef SANDLEASE_BENCH_WORK_H
#define SANDLEASE_BENCH_WORK_H

#include "bench/bench.h"

/* argv of each: the file of sessions, and how many repetitions. */
int work_exec(struct bench *b, char **argv, struct err *e) MUST_CHECK;
int work_stream(struct bench *b, char **argv, struct err *e) MUST_CHECK;
int work_code(struct bench *b, char **argv, struct err *e) MUST_CHECK;
int work_context(struct bench *b, char **argv, struct err *e) MUST_CHECK;
int work_together(struct bench *b, char **argv, struct err *e) MUST_CHECK;

#endif
