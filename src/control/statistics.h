/*
 * statistics.h: measures what sessions and sandboxes use, and keeps samples.
 *
 * Nothing here starts, stops or changes a sandbox.
 */
#ifndef SANDLEASE_CONTROL_STATISTICS_H
#define SANDLEASE_CONTROL_STATISTICS_H

#include <stdint.h>

#include "control/control.h"

/*
 * Measures a session and its sandbox, and returns what clients see of it.  One
 * that does not run has its row's numbers only.  ERR_UNAVAILABLE "other_host"
 * when its sandbox runs elsewhere.
 */
int statistics_session(struct control *ctl, const char *id, const char *tenant,
    json_t **out, struct err *e) MUST_CHECK;

/*
 * The same for a sandbox.  ERR_NOT_FOUND is the same for no sandbox and for one
 * of another tenant.
 */
int statistics_sandbox(struct control *ctl, const char *id, const char *tenant,
    json_t **out, struct err *e) MUST_CHECK;

/*
 * Adds a sample of every sandbox and session that runs on this host and whose
 * last sample is old enough, as far as the time allows; those that waited
 * longest first.  One that cannot be measured gets no sample, which is no
 * failure.
 */
int statistics_sample(struct control *ctl, int64_t deadline_ms, struct err *e)
    MUST_CHECK;

/* Replaces old samples by hourly ones, and deletes those that are too old. */
int statistics_thin(struct control *ctl, int64_t deadline_ms, struct err *e)
    MUST_CHECK;

#endif
