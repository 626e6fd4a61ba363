/* triggers.h: carries out triggers that are due. */
#ifndef SANDLEASE_REAPER_TRIGGERS_H
#define SANDLEASE_REAPER_TRIGGERS_H

#include "reaper/pass.h"

/*
 * Records an execution for each trigger that is due.  Any host's reaper does
 * that; where a session of another host is meant, that host's does.
 */
void triggers_fire(struct pass *p);

#endif
