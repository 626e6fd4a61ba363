/*
 * keys_control.h: gives sessions the correlation keys that commands inside them
 * have asked for.
 */
#ifndef SANDLEASE_CONTROL_KEYS_CONTROL_H
#define SANDLEASE_CONTROL_KEYS_CONTROL_H

#include "control/control.h"

/*
 * Asks the wrapper for these keys, and gives the session those that are free.
 * For a wrapper whose status says that there are some; the end of an execution
 * brings them, too.
 */
int keys_pull(struct control *ctl, const struct agent_target *t, struct err *e)
    MUST_CHECK;

#endif
