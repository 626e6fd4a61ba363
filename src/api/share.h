/*
 * share.h: no org may hold more than half of the workers for long.
 *
 * A table in memory that all workers of the pool share: who is at work for
 * whom, and since when.  A burst of quick calls may use every worker; once
 * half of them hang in calls of one org, that org's next call is refused
 * with 429 at once, so that the others' are served.
 *
 * Calls that only wait for something to happen hold at most a quarter of the
 * workers, and those of one org half of that.
 */
#ifndef SANDLEASE_API_SHARE_H
#define SANDLEASE_API_SHARE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"

struct share;

/* Made by the master before it forks; lives as long as the program. */
struct share *share_new(size_t workers);

/* ERR_LIMITED when `tenant` holds half of the workers already. */
int share_enter(struct share *s, size_t worker, const char *tenant,
    struct err *e) MUST_CHECK;

/*
 * Whether this worker may wait.  False: too many do, or it is the only one;
 * the call answers with what there is.  Ended by share_leave.
 */
bool share_wait(struct share *s, size_t worker, const char *tenant);
void share_leave(struct share *s, size_t worker);

#endif
