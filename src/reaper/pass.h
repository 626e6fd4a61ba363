/*
 * pass.h: one pass over everything that is due, as its parts see it.
 *
 * The parts themselves and their order are parts.h's: no part includes that.
 */
#ifndef SANDLEASE_REAPER_PASS_H
#define SANDLEASE_REAPER_PASS_H

#include <stdbool.h>

#include "control/control.h"

enum { PASS_PART_MAX = 32, PASS_AT_MAX = 64 };

/* How far a part has come that goes through its rows in an order, once. */
struct pass_cursor {
	char at[PASS_AT_MAX];
	char id[ID_MAX];
};

struct pass {
	struct control *ctl;
	bool dry_run;
	int64_t end_ms;            /* of the pass */
	int64_t deadline_ms;       /* of the part at hand */
	char begin[PASS_PART_MAX]; /* the part it begins with; "": the first */
	char next[PASS_PART_MAX];  /* the one it did not come to; "": none */
	char since[PASS_AT_MAX];   /* when it began, by the database */
	struct pass_cursor starts_from, idle_from, stuck_from;
	/* of parts_run(): parts may run more than once */
	json_t *silences; /* how often a sandbox did not answer its stop */
	json_t *skip;     /* sandboxes that are left alone for that */
	json_t *left;     /* deletions that failed */
	/* what it did */
	int64_t scanned, stopped, slept, deleted, failed_starts, orphans, stuck,
	    old, gone, retired, removed, leaked, errors;
};

/* True while the part at hand has time for another piece of work. */
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
