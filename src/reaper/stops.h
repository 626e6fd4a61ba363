/*
 * stops.h: carries out stop requests, in waves.
 */
#ifndef SANDLEASE_REAPER_STOPS_H
#define SANDLEASE_REAPER_STOPS_H

#include "reaper/pass.h"

/* Gives up attempts that ran out of time; their back-off begins. */
void stops_expire_watchdogs(struct pass *p);

/*
 * Runs wave after wave until nothing is due: first attempts before retries, and
 * retries for a share of the pass's time.  A sandbox that has not answered
 * twice is left for the next pass.  Stops that were often tried in vain are
 * logged.
 */
void stops_run(struct pass *p);

#endif
