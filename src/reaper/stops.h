/*
 * stops.h: carries out what is to be stopped, in waves.
 */
#ifndef SANDLEASE_REAPER_STOPS_H
#define SANDLEASE_REAPER_STOPS_H

#include "reaper/pass.h"

/* Attempts that ran out of time are given up, with their backoff. */
void stops_expire_watchdogs(struct pass *p);

/*
 * Wave after wave until nothing is due: first attempts before retries, and
 * retries for a share of the pass's time.  A sandbox that has not answered
 * twice is left for the next pass.  What was tried often is told.
 */
void stops_run(struct pass *p);

#endif
