/*
 * sandbox_control.h: stops and destroys sandboxes, in step with their rows.
 */
#ifndef SANDLEASE_CONTROL_SANDBOX_CONTROL_H
#define SANDLEASE_CONTROL_SANDBOX_CONTROL_H

#include <stdbool.h>

#include "control/control.h"

struct sandbox_end {
	const char *id;          /* borrowed */
	const char *incarnation; /* borrowed */
	bool done;               /* false also if a session still needs it */
	struct err why;          /* of a failure */
};

/*
 * Stops sandboxes (files stay) or destroys them, except those that a session
 * still needs.  Intent, effect, observed outcome.  The caller holds their
 * locks.
 */
void sandbox_control_end_all(struct control *ctl, struct sandbox_end *all,
    size_t count, bool destroy);

/*
 * The same, and takes the locks.  Of several sandboxes, those that another
 * process has locked are left out (not done, no failure).  The order of `all`
 * may change.
 */
void sandbox_control_retire_all(struct control *ctl, struct sandbox_end *all,
    size_t count, bool destroy);
int sandbox_control_retire(struct control *ctl, const char *id,
    const char *incarnation, bool destroy, bool *done, struct err *e)
    MUST_CHECK;

/*
 * Settles a sandbox that was seen to be down although its row says otherwise (a
 * crash, a reboot).  The incarnation is ended in the host's record, which then
 * refuses a late effect.  Its sessions' wrappers are thereby proved absent: the
 * sessions become asleep where their files are, else lost.  The sandbox's row
 * follows.  *sessions counts the sessions.  The caller holds the sandbox's
 * lock.
 */
int sandbox_control_gone(struct control *ctl, const char *id,
    const char *incarnation, size_t *sessions, struct err *e) MUST_CHECK;

/*
 * Ends a whole sandbox on evidence (evidence.h), even if sessions run in it.
 * They lose their wrappers and say `sandbox_destroyed`; their files stay until
 * they are deleted.  The caller holds the sandbox's lock.
 */
int sandbox_control_condemn(struct control *ctl, const char *id,
    const char *incarnation, size_t *sessions, struct err *e) MUST_CHECK;

#endif
