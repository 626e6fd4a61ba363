/*
 * answers.h: what a persistent shell says on its own channel (script.h).
 *
 * A reader that is fed bytes as they come and keeps what the lines meant: the
 * last command that ended, and the exported variables as they were then.
 * Lines of no meaning are the tenant's own fun.  Pure.
 */
#ifndef SANDLEASE_AGENT_SHELL_ANSWERS_H
#define SANDLEASE_AGENT_SHELL_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/str.h"

enum { ANSWERS_LINE_MAX = 64, ANSWERS_EXPORTS_MAX = 512 * 1024 };

struct answers {
	int64_t ended;      /* the last `x`; its status is */
	int exit_code;      /* this one */
	int64_t ready;      /* the last `d` */
	struct buf exports; /* a script; empty: not known */

	/* while reading */
	struct buf gathered;
	int64_t gathering; /* of this `e`; 0: nothing is gathered */
	bool overflow;     /* there is too much of it */
	char line[ANSWERS_LINE_MAX];
	size_t len; /* of the line so far, also beyond its maximum */
};

void answers_read(struct answers *a, const char *data, size_t len);

/* As for a new shell, with what is kept released. */
void answers_reset(struct answers *a);

#endif
