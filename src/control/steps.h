/*
 * steps.h: collects the steps of a start, and how long each took.
 *
 * They are written with the start's outcome, so they cost no extra statement.
 */
#ifndef SANDLEASE_CONTROL_STEPS_H
#define SANDLEASE_CONTROL_STEPS_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/json.h"

enum { STEPS_MAX = 8 };

struct step {
	const char *what; /* workspace, sandbox, ..., wrapper, setup, ready */
	const char *how;  /* for example "made", "reused" */
	int64_t began_us;
	int64_t ended_us; /* 0: under way */
};

struct steps {
	struct step step[STEPS_MAX];
	size_t count;
};

/* Begins the next step, which ends the last one. */
void steps_enter(struct steps *s, const char *what, const char *how);
void steps_end(struct steps *s);

/* Sets how the step under way is done, if that shows only later. */
void steps_tell(struct steps *s, const char *how);

/*
 * Whether a step (of that name) has begun and not ended: that is where a start
 * failed.
 */
bool steps_under_way(const struct steps *s);
bool steps_are_at(const struct steps *s, const char *what);

/*
 * An array for a spec's "steps".  `why` (may be NULL) goes with the step that
 * is under way.
 */
json_t *steps_json(const struct steps *s, const struct err *why);

#endif
