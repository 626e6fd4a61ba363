/*
 * outcome.h: records how a start ended.
 */
#ifndef SANDLEASE_CONTROL_OUTCOME_H
#define SANDLEASE_CONTROL_OUTCOME_H

#include "control/launch.h"

/*
 * Records that the wrapper was proved: the session is ready.  ERR_BUSY
 * "lease_changed" if it was stopped meanwhile.
 */
int outcome_verified(struct control *ctl, const struct launch *l, struct err *e)
    MUST_CHECK;

/*
 * Records that the start failed with *e, for good unless start_undecided() says
 * otherwise.  `condemned`: the whole sandbox was ended for it (evidence.h), and
 * the rows of its sessions say so.  Always -1.
 */
int outcome_failed(struct control *ctl, const struct launch *l, bool condemned,
    struct err *e);

/*
 * Records that this generation has failed, and why, and stops it.  Always -1.
 */
int outcome_end(struct control *ctl, const struct launch *l,
    const struct err *e);

/*
 * Records the steps of a start that no outcome has recorded: it is not decided
 * yet, its setup comes next, or it reused a wrapper.  Best effort.
 */
void outcome_note_steps(struct control *ctl, const struct launch *l,
    const struct err *why);

#endif
