/*
 * progress.h: how far a copy is, where somebody looks.
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

/* Shown only when `wanted` and standard error is a terminal. */
void progress_begin(struct progress *p, const char *name, bool wanted);
/* `total` 0: nobody knows. */
void progress_move(struct progress *p, int64_t done, int64_t total);
void progress_end(struct progress *p);

#endif
