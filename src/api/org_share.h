/*
 * org_share.h: limits how many workers of a pool one org may hold, so that the
 * other orgs find a free worker.
 *
 * All workers of a pool share a table in memory: which worker serves a call of
 * which org, and since when.  Every call in progress counts.
 *
 * An org's share is half of the pool.  A call within the share may hold its
 * worker for as long as it asks for.  A call beyond the share may hold its
 * worker for two seconds, which serves a burst, and only while the org has
 * credit: ten seconds of worker time, paid back at one second a second.  An org
 * needs no credit if no other org has called for a minute.  A refused call is
 * answered at once with 503 and Retry-After, so that the worker is free for the
 * next.
 *
 * Calls that only wait have smaller shares (enum org_share_wait).
 */
#ifndef SANDLEASE_API_ORG_SHARE_H
#define SANDLEASE_API_ORG_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

#define SHARE_HOLD_ANY INT64_MAX

enum share_call {
	SHARE_ENDS_SOON, /* the call ends by itself, or after *hold_ms */
	SHARE_MAY_LAST,  /* takes many seconds: never beyond the share */
	SHARE_READS      /* is counted, but never refused */
};

enum org_share_wait {
	/* for an event of a session: a quarter of the workers may wait so, and
	 * half of a quarter for one org */
	SHARE_EVENT,
	/* for a wrapper's answer: all but a quarter of the workers may wait so,
	 * and half of the workers for one org */
	SHARE_ANSWER
};

struct org_share;

/* The master calls this before it forks; the table is never freed. */
struct org_share *org_share_new(size_t workers);

/*
 * Begins a call of `tenant` in this worker; the call may hold the worker for
 * *hold_ms.  ERR_UNAVAILABLE if the org has used up its share and its credit.
 */
int org_share_enter(struct org_share *s, size_t worker, const char *tenant,
    enum share_call call, int64_t *hold_ms, struct err *e) MUST_CHECK;
void org_share_leave(struct org_share *s, size_t worker);

/*
 * Whether this worker may wait.  False: too many workers wait already, and the
 * call must answer with the data it has.  The only worker of a pool never waits
 * for an event.  org_share_leave ends the wait.
 */
bool org_share_wait(struct org_share *s, size_t worker, const char *tenant,
    enum org_share_wait what);

/*
 * Marks a wrapper, named by session and generation, that did not answer in time
 * as mute for five seconds.  No worker should wait for it meanwhile.
 */
void org_share_mute(struct org_share *s, const char *wrapper);
bool org_share_is_mute(const struct org_share *s, const char *wrapper);

#endif
