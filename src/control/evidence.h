/*
 * evidence.h: what a failed start says about the sandbox as a whole.
 *
 * A whole sandbox is ended only on evidence against itself: no space left on a
 * file system that is its own, an engine that says it is broken, or a sandbox
 * that could not be made or probed twice, half a minute apart, while another
 * on this host could.  Never for a refused admission, a capacity that cannot
 * be measured, a permission error, or a disk that a neighbour may have filled.
 */
#ifndef SANDLEASE_CONTROL_EVIDENCE_H
#define SANDLEASE_CONTROL_EVIDENCE_H

#include <stdbool.h>

#include "control/launch.h"

/*
 * True when there was evidence and the sandbox has been ended.  `why` is what
 * the caller of the start sees, and stays as it is.  The caller holds the
 * sandbox's lock.
 */
bool evidence_weigh(struct control *ctl, const struct launch *l,
    const struct err *why);

#endif
