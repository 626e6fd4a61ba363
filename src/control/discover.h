/*
 * discover.h: what is there of a session, as far as this host can tell.
 *
 * Four answers, and "could not tell" is one of them: an error is never
 * absence.
 */
#ifndef SANDLEASE_CONTROL_DISCOVER_H
#define SANDLEASE_CONTROL_DISCOVER_H

#include "control/control.h"

enum sight {
	SIGHT_ABSENT, /* nothing of the session, and that is a fact */
	SIGHT_OURS,   /* exactly one wrapper, of the lease's instance */
	SIGHT_OTHER,  /* two, a stranger, a wrong generation */
	SIGHT_UNKNOWN /* could not look; e says why */
};

/*
 * Looks without sealing: before a launch or reuse.  *down: absent because the
 * whole sandbox is.
 */
enum sight discover(struct control *ctl, const struct session_row *s,
    bool *down, struct err *e);

/*
 * Makes an absence that was seen final: from now on init refuses the lease's
 * generation, so that a launch which is still on its way cannot arrive after
 * the next one was allocated.  False: it came in between, look again.
 */
int discover_seal(struct control *ctl, const struct session_row *s,
    bool *absent, struct err *e) MUST_CHECK;

/* Whether the row claims a sandbox that should be running. */
bool discover_row_runs(const struct session_row *s);

/*
 * Whether it is a start that was killed half way: processes, but no init that
 * ever answered, so nobody can have launched anything in it.
 */
bool discover_never_answered(struct control *ctl, const struct session_row *s);

/*
 * Whether the sandbox's init cannot be there: another boot, never started,
 * or the provider sees no process.  False with e set when it cannot tell.  What
 * a dead init has left frozen is thawed, so that a later call finds it down.
 */
bool discover_sandbox_down(struct control *ctl, const struct session_row *s,
    struct err *e);

#endif
