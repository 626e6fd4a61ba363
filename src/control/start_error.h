/*
 * start_error.h: tells what the error of a start means for the session.
 */
#ifndef SANDLEASE_CONTROL_START_ERROR_H
#define SANDLEASE_CONTROL_START_ERROR_H

#include "common/err.h"

/*
 * Whether to look again: the sandbox's init is gone, or another generation has
 * begun.
 */
bool start_worth_retry(const struct err *e);

/* Whether a start that returned this error may still succeed. */
bool start_undecided(const struct err *e);

/* Whether the start waits for its setup. */
bool start_setup_running(const struct err *e);

/* Whether the session's setup failed: its row has the output. */
bool start_setup_failed(const struct err *e);

/* Whether the last wrapper was not seen gone yet, so that nothing was begun. */
bool start_must_wait(const struct err *e);

#endif
