/*
 * parts.h: the parts of a pass in their order, and how they share its time.
 */
#ifndef SANDLEASE_REAPER_PARTS_H
#define SANDLEASE_REAPER_PARTS_H

#include "reaper/pass.h"

/*
 * Does as much as the time allows; parts that failed are counted.  Each part has
 * a share of the time, and those that did not finish share what is left.  Where
 * it ran out of time before it came to a part, the next pass begins there.
 */
void parts_run(struct pass *p);

#endif
