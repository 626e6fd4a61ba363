/*
 * keys.h: what a terminal feels like.
 */
#ifndef SANDLEASE_BENCH_KEYS_H
#define SANDLEASE_BENCH_KEYS_H

#include "bench/bench.h"

/* argv: the file of sessions, how many keys. */
int keys_echo(struct bench *b, char **argv, struct err *e) MUST_CHECK;

#endif
