/*
 * execution_keep.h: keeps what an attempt has left, before its end is recorded;
 * for execution_give.c.
 */
#ifndef SANDLEASE_CONTROL_EXECUTION_KEEP_H
#define SANDLEASE_CONTROL_EXECUTION_KEEP_H

#include "control/control.h"
#include "domain/attempt.h"

/*
 * Copies output and collected files of the ended attempt `id` into files of this
 * host, and adds to `told` what execution_told() in SQL takes: artifacts, host,
 * folder, logBytes, logFirst.  A failure is a part of the result:
 * artifactsError.
 */
void execution_keep(struct control *ctl, const struct session_row *s,
    const char *id, const struct agent_attempt *a, json_t *told);

/* The end is recorded: the wrapper may forget the attempt. */
void execution_keep_end(struct control *ctl, const struct session_row *s,
    const char *id);

#endif
