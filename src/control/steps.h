/*
 * steps.h: what a start consisted of, and how long each part took.
 *
 * Collected while it goes on, written with its outcome: a start costs no
 * statement more for it.
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
	const char *how;  /* what was done, or that it was there already */
	int64_t began_us;
	int64_t ended_us; /* 0: under way */
};

struct steps {
	struct step step[STEPS_MAX];
	size_t count;
};

/* The next step begins, and with that the last one has ended. */
void steps_enter(struct steps *s, const char *what, const char *how);
void steps_end(struct steps *s);

/* How the step under way is done, where that shows on the way. */
void steps_tell(struct steps *s, const char *how);

/* Whether one (of that name) has begun and not ended: it is what failed. */
bool steps_under_way(const struct steps *s);
bool steps_are_at(const struct steps *s, const char *what);

/*
 * An array for a spec's "steps".  `why` (may be NULL) goes with the step that
 * is under way.
 */
json_t *steps_json(const struct steps *s, const struct err *why);

#endif
