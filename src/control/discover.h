/*
 * discover.h: finds out what exists of a session, as far as this host can tell.
 *
 * There are four answers, and "could not tell" is one of them: an error is
 * never taken for absence.
 */
#ifndef SANDLEASE_CONTROL_DISCOVER_H
#define SANDLEASE_CONTROL_DISCOVER_H

#include "control/control.h"

enum look_result {
	LOOK_ABSENT, /* nothing of the session, and that is a fact */
	LOOK_OURS,   /* exactly one wrapper, of the lease's instance */
	LOOK_OTHER,  /* two wrappers, a wrong instance or generation */
	LOOK_UNKNOWN /* could not look; e says why */
};

/*
 * Looks for the session's wrapper without sealing: before a launch or reuse.
 * *down: it is absent because the whole sandbox is down.
 */
enum look_result discover(struct control *ctl, const struct session_row *s,
    bool *down, struct err *e);

/*
 * Makes an absence that was seen final.  From now on init refuses the lease's
 * generation, so that a launch that is still on its way cannot arrive after the
 * next generation was allocated.  *absent is false if the launch came before
 * the seal: look again.
 */
int discover_seal(struct control *ctl, const struct session_row *s,
    bool *absent, struct err *e) MUST_CHECK;

/* Whether the row says that the sandbox is running or being created. */
bool discover_row_runs(const struct session_row *s);

/*
 * Whether the sandbox's start was cut off half way: it has processes, but its
 * init has never answered.  No worker can have launched a wrapper in it.
 */
bool discover_never_answered(struct control *ctl, const struct session_row *s);

/*
 * Whether the sandbox's init cannot exist: another boot, never started, or the
 * provider sees no process.  False with e set when it cannot tell.  Cells that
 * a dead init has left frozen are thawed, so that they end and a later call
 * finds the sandbox down.
 */
bool discover_sandbox_down(struct control *ctl, const struct session_row *s,
    struct err *e);

#endif
