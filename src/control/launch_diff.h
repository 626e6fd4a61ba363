/*
 * launch_diff.h: sends a new wrapper the environment, ports and network that
 * were changed while it started.
 *
 * A launch carries environment and ports.  A change to a session that is ready
 * is sent to its wrapper directly.  A change made between the two is in neither
 * message: launch_diff_send() compares launch and row after session_verified()
 * and sends the difference.
 */
#ifndef SANDLEASE_CONTROL_LAUNCH_DIFF_H
#define SANDLEASE_CONTROL_LAUNCH_DIFF_H

#include "control/control.h"

struct launch_given {
	/* owned; NULL: the wrapper has the row's; "": it has none */
	char *env_sealed;
	bool network; /* its network is served */
	bool unknown; /* unknown which relays the wrapper has */
};

/* Fills in *f from a row's columns. */
void launch_given_read(const struct rows *r, struct launch_given *f);
void launch_given_release(struct launch_given *f);

/* For a wrapper whose environment and relays are not known: all is sent. */
void launch_given_forget(struct launch_given *f);

/*
 * Sends a wrapper that was launched with `given` its difference to the row
 * `now`.  Best effort: the session is ready, so a failure is only logged.
 */
void launch_diff_send(struct control *ctl, const struct agent_target *t,
    const struct launch_given *given, const struct rows *now);

#endif
