/*
 * adopt.h: gives a session the wrapper of the warm pool that its create claimed.
 */
#ifndef SANDLEASE_CONTROL_ADOPT_H
#define SANDLEASE_CONTROL_ADOPT_H

#include "control/launch.h"

/*
 * Whether the start is that of a session which claimed a member, and no other
 * wrapper has been started for it since.
 */
bool adopt_is_due(const struct launch *l);

/*
 * Sends the wrapper what a launch would have brought, and sets the session's
 * own limits.  May be repeated.  Where nothing comes between adoption and
 * proof, both are one message: l->proved.
 */
int adopt_wrapper(struct control *ctl, struct launch *l, int64_t deadline_ms,
    struct err *e) MUST_CHECK;

#endif
