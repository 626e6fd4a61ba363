/*
 * evidence.h: judges a whole sandbox by the failed start of one session in it.
 *
 * A whole sandbox is ended only on evidence against itself: no space left on a
 * file system that is its own, an engine that says it is broken, or a sandbox
 * that could not be made or probed twice, half a minute apart, while another on
 * this host could.  Never for a refused admission, a capacity that cannot be
 * measured, a permission error, or a disk that a neighbour may have filled.
 */
#ifndef SANDLEASE_CONTROL_EVIDENCE_H
#define SANDLEASE_CONTROL_EVIDENCE_H

#include <stdbool.h>

#include "control/launch.h"

/*
 * True if there was evidence and the sandbox has been ended.  `why`, the error
 * of the start, is not changed.  The caller holds the sandbox's lock.
 */
bool evidence_weigh(struct control *ctl, const struct launch *l,
    const struct err *why);

#endif
