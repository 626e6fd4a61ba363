/*
 * pass.h: one pass over everything that is due.
 */
#ifndef SANDLEASE_REAPER_PASS_H
#define SANDLEASE_REAPER_PASS_H

#include <stdbool.h>

#include "control/control.h"

struct pass {
	struct control *ctl;
	bool dry_run;
	int64_t deadline_ms;
	/* what it did */
	int64_t scanned, stopped, slept, deleted, failed_starts, orphans, stuck,
	    old, gone, retired, removed, leaked, errors;
};

/* Does as much as the time allows; parts that failed are counted. */
void pass_run(struct pass *p);

/* True while there is time for another piece of work. */
bool pass_has_time(const struct pass *p);

/* Counts and tells one failure of a part. */
void pass_failed(struct pass *p, const char *part, const struct err *e);

/* As a statement's parameter. */
struct pass_number {
	char text[24];
};
struct pass_number pass_number(int64_t n);

/* The figures as JSON, for people and for the table; the caller's. */
json_t *pass_summary(const struct pass *p);

#endif
