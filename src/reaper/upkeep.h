/*
 * upkeep.h: finishes the work of workers that died, and watches the host's
 * disk.
 */
#ifndef SANDLEASE_REAPER_UPKEEP_H
#define SANDLEASE_REAPER_UPKEEP_H

#include "reaper/pass.h"

/* Interruptions, freezes and thaws whose worker died. */
void upkeep_interrupts(struct pass *p);
void upkeep_suspends(struct pass *p);

/*
 * Guards the free space, enforces the limits of sessions, and counts the space
 * that is promised to them.
 */
void upkeep_disk(struct pass *p);

#endif
