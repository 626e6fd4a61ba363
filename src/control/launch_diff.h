/*
 * launch_diff.h: environment and relays of a wrapper, as the rows want them.
 *
 * Who changes them in a session that is ready tells the wrapper; before that a
 * launch brings them along.  What was changed between the two is brought after
 * the outcome, when every later change tells for itself.
 */
#ifndef SANDLEASE_CONTROL_LAUNCH_DIFF_H
#define SANDLEASE_CONTROL_LAUNCH_DIFF_H

#include "control/control.h"

struct launch_given {
	char *
	    env_sealed; /* owned; NULL: the wrapper knows it.  "": it has none */
	bool unknown;   /* which relays the wrapper has */
};

/* Of a row's columns. */
void launch_given_read(const struct rows *r, struct launch_given *f);
void launch_given_release(struct launch_given *f);

/* What the wrapper has is not known: all of it is to be brought. */
void launch_given_forget(struct launch_given *f);

/*
 * Brings a wrapper that was launched with `given` what the row has.  Best
 * effort: the session is ready, and a failure is in the log.
 */
void launch_diff_send(struct control *ctl, const struct agent_target *t,
    const struct launch_given *given, const struct rows *now);

#endif
