/*
 * ask.h: asks wrappers what they are doing before it decides about them.
 *
 * Only wrappers of this host, a batch at once; each is due at most once in a
 * pass.
 */
#ifndef SANDLEASE_REAPER_ASK_H
#define SANDLEASE_REAPER_ASK_H

#include "reaper/pass.h"

/*
 * Sessions past their startup deadline: repaired if their wrapper has accepted
 * work, else failed.
 */
void ask_late_starts(struct pass *p);
/* Sessions past their idle date: they sleep unless they have work. */
void ask_idle(struct pass *p);
/* Sessions that are busy while nothing has moved for too long. */
void ask_stuck(struct pass *p);

#endif
