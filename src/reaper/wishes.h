/*
 * wishes.h: sessions that are to be stopped for a reason their rows have.
 *
 * Only the obligation is written here; stops.h carries it out.
 */
#ifndef SANDLEASE_REAPER_WISHES_H
#define SANDLEASE_REAPER_WISHES_H

#include "reaper/pass.h"

/* Initializing for too long. */
void wish_orphans(struct pass *p);
/* Past their expiresAt. */
void wish_expired(struct pass *p);
/* Their wrapper has run for too long without a pause. */
void wish_run_time(struct pass *p);
void wish_old(struct pass *p);
/* Failed or lost, and past the retention of rows. */
void wish_retention(struct pass *p);
/* Leases that own a wrapper and whose session's row is gone. */
void wish_lost_leases(struct pass *p);

#endif
