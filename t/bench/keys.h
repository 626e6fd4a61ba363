/* keys.h: measures how fast a terminal echoes keys. */
#ifndef SANDLEASE_BENCH_KEYS_H
#define SANDLEASE_BENCH_KEYS_H

#include "bench/bench.h"

/* argv: the file of sessions, and how many keys to type. */
int keys_echo(struct bench *b, char **argv, struct err *e) MUST_CHECK;

#endif
