/*
 * fittings.h: environment and relays of a wrapper, as the rows want them.
 *
 * Who changes them in a session that is ready tells the wrapper; before that a
 * launch brings them along.  What was changed between the two is brought after
 * the outcome, when every later change tells for itself.
 */
#ifndef SANDLEASE_CONTROL_FITTINGS_H
#define SANDLEASE_CONTROL_FITTINGS_H

#include "control/control.h"

struct fittings {
	char *
	    env_sealed; /* owned; NULL: the wrapper knows it.  "": it has none */
	bool unknown;   /* which relays the wrapper has */
};

/* Of a row's columns. */
void fittings_read(const struct rows *r, struct fittings *f);
void fittings_release(struct fittings *f);

/* What the wrapper has is not known: all of it is to be brought. */
void fittings_forget(struct fittings *f);

/*
 * Brings a wrapper that was launched with `given` what the row has.  Best
 * effort: the session is ready, and a failure is in the log.
 */
void fittings_bring(struct control *ctl, const struct agent_target *t,
    const struct fittings *given, const struct rows *now);

#endif
