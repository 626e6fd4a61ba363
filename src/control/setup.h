/*
 * setup.h: runs a session's setup, the command that must succeed before the
 * session is ready.
 *
 * A setup runs once: its success is recorded before any later step.  The
 * wrapper runs it and remembers how it went.  So any process can move the start
 * on, after a crash or when the client has left, and goes on listening where
 * the row says.
 */
#ifndef SANDLEASE_CONTROL_SETUP_H
#define SANDLEASE_CONTROL_SETUP_H

#include "control/launch.h"

/*
 * Whether this wrapper has begun the setup: then the files are in place, too.
 */
int setup_has_begun(struct control *ctl, const struct launch *l,
    int64_t deadline_ms, bool *begun, struct err *e) MUST_CHECK;

/*
 * Begins the setup or goes on with it; its output becomes events.  ERR_BUSY
 * "setup_running" if it has not ended at the deadline or, with ctl->try_setup,
 * now.  ERR_CONFLICT "setup_failed", which is recorded.
 */
int setup_run(struct control *ctl, struct launch *l, int64_t deadline_ms,
    struct err *e) MUST_CHECK;

#endif
