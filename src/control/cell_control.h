/*
 * cell_control.h: a wrapper that is not as its lease says.
 */
#ifndef SANDLEASE_CONTROL_CELL_CONTROL_H
#define SANDLEASE_CONTROL_CELL_CONTROL_H

#include "control/control.h"

/*
 * A lease owns it, its sandbox runs, and it was not in the list.  Looks once
 * more, sealing its generation; *gone: nothing is there, the lease is none and
 * the session asleep.
 */
int cell_control_gone(struct control *ctl, const struct agent_target *t,
    bool *gone, struct err *e) MUST_CHECK;

/* Nobody has a lease for it: sealed, killed, and seen gone, or an error. */
int cell_control_end(struct control *ctl, const struct agent_target *t,
    struct err *e) MUST_CHECK;

#endif
