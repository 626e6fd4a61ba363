/*
 * stop_requests.h: sessions that are to be stopped for a reason their rows have.
 *
 * Only the obligation is written here; stops.h carries it out.
 */
#ifndef SANDLEASE_REAPER_STOP_REQUESTS_H
#define SANDLEASE_REAPER_STOP_REQUESTS_H

#include "reaper/pass.h"

/* Initializing for too long. */
void request_stop_orphans(struct pass *p);
/* Past their expiresAt. */
void request_stop_expired(struct pass *p);
/* Their wrapper has run for too long without a pause. */
void request_stop_run_time(struct pass *p);
void request_stop_old(struct pass *p);
/* Failed or lost, and past the retention of rows. */
void request_stop_retention(struct pass *p);
/* Leases that own a wrapper and whose session's row is gone. */
void request_stop_lost_leases(struct pass *p);

#endif
