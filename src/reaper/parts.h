/*
 * parts.h: runs the parts of a pass in their order and divides its time.
 */
#ifndef SANDLEASE_REAPER_PARTS_H
#define SANDLEASE_REAPER_PARTS_H

#include "reaper/pass.h"

/*
 * Does as much as the time allows; failures of parts are counted.  Each part
 * has a share of the time, and parts that did not finish share the time that is
 * left.  If the time was over before a part was run, the next pass begins with
 * it.
 */
void parts_run(struct pass *p);

#endif
