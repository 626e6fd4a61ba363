/*
 * wave.h: several stops at once, as one.
 *
 * What is claimed is stopped together: seal and look at all, SIGTERM to all,
 * look at all after 100, 500 and 1000 ms, SIGKILL the rest, a last look, the
 * outcomes.  Whoever is slow is waited for once.  stop_attempt() is a wave of
 * one; there is no other way to stop.
 */
#ifndef SANDLEASE_CONTROL_WAVE_H
#define SANDLEASE_CONTROL_WAVE_H

#include "control/control.h"

struct agent_one; /* provider/link/link.h */

enum { WAVE_MAX = 50 };

struct wave_stop {
	struct session_row
	    s;          /* lease and sandbox; state unknown: its row is gone */
	bool located;   /* the sandbox's row is there: it can be looked for */
	bool absent;    /* nothing of the whole session was seen */
	bool timed_out; /* somebody did not answer */
	struct err why; /* when it is not absent */
	enum session_state state; /* the session's afterwards; "": too late */
	struct agent_one *ask;    /* wave.c's questions to init; borrowed */
};

struct wave {
	char attempt[ID_INSTANCE_LEN + 1];
	size_t count;
	struct wave_stop stop[WAVE_MAX];
	struct agent_one *asks; /* owned; one for each stop */
};

/* What to claim. */
struct wave_options {
	bool retries;       /* what was tried before, else first attempts */
	int64_t limit;      /* at most WAVE_MAX */
	const json_t *skip; /* ids of sandboxes to leave alone; borrowed */
};

#define auto_wave __attribute__((cleanup(wave_free)))
void wave_free(struct wave **w);

/*
 * Claims what is due on this host, or one session's stop if it is due.  The
 * wave is the caller's, also when it is empty.
 */
int wave_claim(struct control *ctl, const struct wave_options *options,
    struct wave **out, struct err *e) MUST_CHECK;
int wave_claim_one(struct control *ctl, const char *session, struct wave **out,
    struct err *e) MUST_CHECK;

/*
 * Stops what was claimed and records what came of each.  Success means that
 * the outcomes are on record, not that anything is gone: see w->stop.
 */
int wave_run(struct control *ctl, struct wave *w, struct err *e) MUST_CHECK;

/* The setting stop_retry_seconds for a spec's "retry". */
json_t *wave_retry(const struct control *ctl);

#endif
