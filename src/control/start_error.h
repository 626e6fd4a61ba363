/*
 * start_error.h: what the error of a start means for the session.
 */
#ifndef SANDLEASE_CONTROL_START_ERROR_H
#define SANDLEASE_CONTROL_START_ERROR_H

#include "common/err.h"

/* The sandbox's init has gone, or another life has begun: look again. */
bool start_worth_retry(const struct err *e);

/* Whether a start that returned this error may still come to be. */
bool start_undecided(const struct err *e);

/* Whether a setup is what the start waits for. */
bool start_setup_running(const struct err *e);

/* Whether it was the session's setup that failed: its row has the output. */
bool start_setup_failed(const struct err *e);

/* The last wrapper has not been seen gone, and nothing was begun after it. */
bool start_must_wait(const struct err *e);

#endif
