/*
 * wave.h: stops several sessions side by side.
 *
 * All that are claimed are stopped together: seal and look at all, SIGTERM to
 * all, look at all after 100, 500 and 1000 ms, SIGKILL the rest, a last look,
 * the outcomes.  All slow sandboxes are waited for at the same time.
 * stop_attempt() is a wave of one; there is no other way to stop.
 */
#ifndef SANDLEASE_CONTROL_WAVE_H
#define SANDLEASE_CONTROL_WAVE_H

#include "control/control.h"

struct agent_one; /* provider/link/link.h */

enum { WAVE_MAX = 50 };

struct wave_stop {
	/* lease and sandbox; state unknown: its row is gone */
	struct session_row s;
	bool located;   /* the sandbox's row exists: it can be looked for */
	bool absent;    /* nothing of the whole session was seen */
	bool timed_out; /* init did not answer in time */
	struct err why; /* when it is not absent */
	enum session_state state; /* afterwards; unknown: too late */
	struct agent_one *ask;    /* wave.c's question to init; borrowed */
};

struct wave {
	char attempt[ID_INSTANCE_LEN + 1];
	size_t count;
	struct wave_stop stop[WAVE_MAX];
	struct agent_one *asks; /* owned; one for each stop */
};

/* Selects the stops to claim. */
struct wave_options {
	bool retries;       /* those tried before, else first attempts */
	int64_t limit;      /* at most WAVE_MAX */
	const json_t *skip; /* ids of sandboxes to leave alone; borrowed */
};

#define auto_wave __attribute__((cleanup(wave_free)))
void wave_free(struct wave **w);

/*
 * Claims the stops that are due on this host, or one session's stop if it is
 * due.  The caller frees the wave, also when it is empty.
 */
int wave_claim(struct control *ctl, const struct wave_options *options,
    struct wave **out, struct err *e) MUST_CHECK;
int wave_claim_one(struct control *ctl, const char *session, struct wave **out,
    struct err *e) MUST_CHECK;

/*
 * Stops what was claimed and records each outcome.  Success means that the
 * outcomes are on record, not that anything is gone: see w->stop.
 */
int wave_run(struct control *ctl, struct wave *w, struct err *e) MUST_CHECK;

/* The setting stop_retry_seconds for a spec's "retry". */
json_t *wave_retry(const struct control *ctl);

#endif
