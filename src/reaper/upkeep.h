/*
 * upkeep.h: what nobody finished, and the host's disk.
 */
#ifndef SANDLEASE_REAPER_UPKEEP_H
#define SANDLEASE_REAPER_UPKEEP_H

#include "reaper/pass.h"

/* Interruptions, freezes and thaws whose worker died. */
void upkeep_interrupts(struct pass *p);
void upkeep_suspends(struct pass *p);

/* What is low, who is over his limit, what is promised. */
void upkeep_disk(struct pass *p);

#endif
