/*
 * org_share.h: one org cannot keep a pool's workers from the others.
 *
 * A table in memory that all workers of a pool share: which worker is at work
 * for which org, and since when.  Every call in progress counts.
 *
 * An org's share is half of the pool.  Within it a call may hold its worker for
 * as long as it asks for.  A call beyond it holds its worker for two seconds at
 * most, which serves a burst, and only while the org has credit: ten seconds of
 * worker time, paid back at one second a second.  An org needs no credit while
 * no call of another has come for a minute.  What is refused is 503 with
 * Retry-After, at once, so that the worker serves the next.
 *
 * Calls that only wait for something have smaller shares.
 */
#ifndef SANDLEASE_API_ORG_SHARE_H
#define SANDLEASE_API_ORG_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

#define SHARE_HOLD_ANY INT64_MAX

enum share_call {
	SHARE_ENDS_SOON, /* by itself, or when the time it was given is over */
	SHARE_MAY_LAST,  /* for many seconds: never beyond the share */
	SHARE_READS      /* counts, and is never refused */
};

enum org_share_wait {
	SHARE_EVENT, /* for something to happen: a quarter, half of it one org's */
	SHARE_ANSWER /* for a wrapper: all but a quarter, half of them one org's */
};

struct org_share;

/* Made by the master before it forks; lives as long as the program. */
struct org_share *org_share_new(size_t workers);

/*
 * The worker begins a call of `tenant`, which may hold it for *hold_ms.
 * ERR_UNAVAILABLE when the org has its share and no credit.
 */
int org_share_enter(struct org_share *s, size_t worker, const char *tenant,
    enum share_call call, int64_t *hold_ms, struct err *e) MUST_CHECK;
void org_share_leave(struct org_share *s, size_t worker);

/*
 * Whether this worker may wait.  False: too many do; the call answers with
 * what there is.  The only worker of a pool waits for no event.  Ended by
 * org_share_leave.
 */
bool org_share_wait(struct org_share *s, size_t worker, const char *tenant,
    enum org_share_wait what);

/*
 * A wrapper, named by session and generation, that did not answer in time is
 * mute for five seconds: nobody is to wait for it meanwhile.
 */
void org_share_mute(struct org_share *s, const char *wrapper);
bool org_share_is_mute(const struct org_share *s, const char *wrapper);

#endif
