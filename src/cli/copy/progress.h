/*
 * progress.h: draws the progress of a copy on a terminal.
 */
#ifndef SANDLEASE_CLI_COPY_PROGRESS_H
#define SANDLEASE_CLI_COPY_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	const char *name; /* borrowed */
	bool shown;
	int64_t began_ms, drawn_ms, done;
};

/* Draws only if `wanted` and standard error is a terminal. */
void progress_begin(struct progress *p, const char *name, bool wanted);
/* `total` 0: not known. */
void progress_move(struct progress *p, int64_t done, int64_t total);
void progress_end(struct progress *p);

#endif
