/*
 * pass.h: one pass over everything that is due: the state that its parts share.
 *
 * parts.h has the parts themselves and their order; no part includes it.
 */
#ifndef SANDLEASE_REAPER_PASS_H
#define SANDLEASE_REAPER_PASS_H

#include <stdbool.h>

#include "control/control.h"

enum { PASS_PART_MAX = 32, PASS_AT_MAX = 64 };

/* The position of a part that goes through its rows once, in order. */
struct pass_cursor {
	char at[PASS_AT_MAX];
	char id[ID_MAX];
};

struct pass {
	struct control *ctl;
	bool dry_run;
	int64_t end_ms;            /* of the pass */
	int64_t deadline_ms;       /* of the current part */
	char begin[PASS_PART_MAX]; /* the part to begin with; "": the first */
	char next[PASS_PART_MAX];  /* the part it did not come to; "": none */
	char since[PASS_AT_MAX];   /* when the pass began, by the database */
	struct pass_cursor starts_from, idle_from, stuck_from;
	/* kept by parts_run(), because parts may run more than once */
	json_t *silences; /* unanswered stops of each sandbox */
	json_t *skip;     /* sandboxes to leave alone because of that */
	json_t *left;     /* deletions that failed */
	/* counts for the summary */
	int64_t scanned, stopped, slept, deleted, failed_starts, orphans, stuck,
	    old, gone, retired, removed, leaked, errors;
};

/* True while the current part has time for another piece of work. */
bool pass_has_time(const struct pass *p);

/* Counts and logs one failure of a part. */
void pass_failed(struct pass *p, const char *part, const struct err *e);

/* A number as text, for a statement's parameter. */
struct pass_number {
	char text[24];
};
struct pass_number pass_number(int64_t n);

/* The counts as JSON, for people and for the table; the caller frees it. */
json_t *pass_summary(const struct pass *p);

#endif
