/*
 * outcome.h: records how a start ended.
 */
#ifndef SANDLEASE_CONTROL_OUTCOME_H
#define SANDLEASE_CONTROL_OUTCOME_H

#include "control/launch.h"

/*
 * The wrapper answered: the session is ready.  ERR_BUSY "lease_changed" when
 * somebody has stopped it meanwhile.
 */
int outcome_verified(struct control *ctl, const struct launch *l, struct err *e)
    MUST_CHECK;

/*
 * It failed with *e: final unless start_undecided() says so.  `condemned`: the
 * whole sandbox was ended for it (evidence.h), and its sessions know.  -1.
 */
int outcome_failed(struct control *ctl, const struct launch *l, bool condemned,
    struct err *e);

/* Records that this life of the session has failed, why, and ends it.  -1. */
int outcome_end(struct control *ctl, const struct launch *l,
    const struct err *e);

/*
 * Steps that no outcome tells of: a start that is not decided yet, or a
 * wrapper that was there.  Best effort.
 */
void outcome_note_steps(struct control *ctl, const struct launch *l,
    const struct err *why);

#endif
