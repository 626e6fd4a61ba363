/*
 * stop_requests.h: requests the stop of sessions for a reason that their rows
 * have.
 *
 * Only the obligation is written here; stops.h carries it out.
 */
#ifndef SANDLEASE_REAPER_STOP_REQUESTS_H
#define SANDLEASE_REAPER_STOP_REQUESTS_H

#include "reaper/pass.h"

/* Sessions that are initializing for too long. */
void request_stop_orphans(struct pass *p);
/* Sessions past their expiresAt. */
void request_stop_expired(struct pass *p);
/*
 * Sessions whose wrapper has run past maxRunSeconds, or too long without a
 * pause.
 */
void request_stop_run_time(struct pass *p);
void request_stop_old(struct pass *p);
/*
 * Sessions that are failed or lost and past the retention of rows; failed
 * creates that no client knows, at once.
 */
void request_stop_retention(struct pass *p);
/* Leases that own a wrapper and whose session's row is gone. */
void request_stop_lost_leases(struct pass *p);

#endif
