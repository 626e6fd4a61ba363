/*
 * cell_control.h: settles a wrapper that is not as its lease says.
 */
#ifndef SANDLEASE_CONTROL_CELL_CONTROL_H
#define SANDLEASE_CONTROL_CELL_CONTROL_H

#include "control/control.h"

/*
 * For a wrapper that a lease owns and that the init of its running sandbox did
 * not list.  Seals its generation and looks once more.  *gone: nothing is left,
 * the lease is none now and the session asleep.
 */
int cell_control_gone(struct control *ctl, const struct agent_target *t,
    bool *gone, struct err *e) MUST_CHECK;

/*
 * For a wrapper without a lease.  Seals its generation and kills it; succeeds
 * only if it was then seen gone.
 */
int cell_control_end(struct control *ctl, const struct agent_target *t,
    struct err *e) MUST_CHECK;

#endif
