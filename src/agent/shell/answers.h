/*
 * answers.h: parses the lines that a persistent shell prints for the wrapper
 * (script.h has their format).
 *
 * The bytes may come in any pieces.  Kept are the last command that ended, and
 * the exported variables at that time.  Unknown lines are ignored, because the
 * tenant can write to the shell's output too.  Pure.
 */
#ifndef SANDLEASE_AGENT_SHELL_ANSWERS_H
#define SANDLEASE_AGENT_SHELL_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/str.h"

enum { ANSWERS_LINE_MAX = 64, ANSWERS_EXPORTS_MAX = 512 * 1024 };

struct answers {
	int64_t ended;      /* N of the last `x` */
	int exit_code;      /* STATUS of the last `x` */
	int64_t ready;      /* N of the last `d` */
	struct buf exports; /* a script; empty: not known */

	/* while reading */
	struct buf gathered; /* exports that have arrived so far */
	int64_t gathering;   /* N of the `e` before them; 0: not in exports */
	bool overflow;       /* exports too long: dropped */
	char line[ANSWERS_LINE_MAX];
	size_t len; /* of the line so far, counted beyond its maximum */
};

void answers_read(struct answers *a, const char *data, size_t len);

/* Frees the buffers and clears all, for a new shell. */
void answers_reset(struct answers *a);

#endif
