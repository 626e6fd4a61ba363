/*
 * ask.h: wrappers that are asked what they are doing before anything is
 * decided about them.
 *
 * Those of this host, a batch at once; each at most once in a pass.
 */
#ifndef SANDLEASE_REAPER_ASK_H
#define SANDLEASE_REAPER_ASK_H

#include "reaper/pass.h"

/* Past their startup deadline: repaired by accepted work, or failed. */
void ask_late_starts(struct pass *p);
/* Past their idle date: they sleep unless they have work. */
void ask_idle(struct pass *p);
/* Busy, and nothing has moved for too long. */
void ask_stuck(struct pass *p);

#endif
