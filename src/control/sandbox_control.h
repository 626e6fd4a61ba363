/*
 * sandbox_control.h: ending a sandbox, with its own lease.
 */
#ifndef SANDLEASE_CONTROL_SANDBOX_CONTROL_H
#define SANDLEASE_CONTROL_SANDBOX_CONTROL_H

#include <stdbool.h>

#include "control/control.h"

struct sandbox_end {
	const char *id;          /* borrowed */
	const char *incarnation; /* borrowed */
	bool done;      /* false, too, when a session stands in the way */
	struct err why; /* of a failure */
};

/*
 * Stops them (files stay) or destroys them, where no session stands in the
 * way.  Intent, effect, observed outcome.  The caller holds their locks.
 */
void sandbox_control_end_all(struct control *ctl, struct sandbox_end *all,
    size_t count, bool destroy);

/*
 * The same, taking the locks: of several, what somebody else is at is left
 * out (not done, no failure).  The order of `all` may change.
 */
void sandbox_control_retire_all(struct control *ctl, struct sandbox_end *all,
    size_t count, bool destroy);
int sandbox_control_retire(struct control *ctl, const char *id,
    const char *incarnation, bool destroy, bool *done, struct err *e)
    MUST_CHECK;

/*
 * The sandbox was seen to be down although its row says otherwise (a crash,
 * a reboot): the incarnation is ended where a late effect would look, the row
 * follows, and its sessions' wrappers are thereby proved absent: asleep where
 * their files are, else lost.  *sessions counts them.  The caller holds the
 * sandbox's lock.
 */
int sandbox_control_gone(struct control *ctl, const char *id,
    const char *incarnation, size_t *sessions, struct err *e) MUST_CHECK;

/*
 * Ends a whole sandbox on evidence (evidence.h), whoever is in it: its sessions
 * lose their wrappers and say `sandbox_destroyed`; their files are theirs until
 * they are deleted.  The caller holds the sandbox's lock.
 */
int sandbox_control_condemn(struct control *ctl, const char *id,
    const char *incarnation, size_t *sessions, struct err *e) MUST_CHECK;

#endif
