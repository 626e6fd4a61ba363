/*
 * setup.h: the command that a session wants to have run before it is ready.
 *
 * Once: its success is durable before anything else is.  The wrapper runs it
 * and remembers how it went, so that whoever moves the start on, after a crash
 * or because nobody waits any more, goes on listening where the row says.
 */
#ifndef SANDLEASE_CONTROL_SETUP_H
#define SANDLEASE_CONTROL_SETUP_H

#include "control/launch.h"

/* Whether this wrapper has begun it: then its files are in place, too. */
int setup_has_begun(struct control *ctl, const struct launch *l,
    int64_t deadline_ms, bool *begun, struct err *e) MUST_CHECK;

/*
 * Begins it or goes on with it; what it says becomes events.  ERR_BUSY
 * "setup_running" when it has not ended at the deadline, or, for who only
 * glances at it, now; ERR_CONFLICT "setup_failed", which is recorded.
 */
int setup_run(struct control *ctl, struct launch *l, int64_t deadline_ms,
    struct err *e) MUST_CHECK;

#endif
