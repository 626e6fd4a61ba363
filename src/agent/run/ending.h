/*
 * ending.h: ending what a command has started while its output still flows.
 *
 * SIGTERM, a second of grace in which last words are passed on, then SIGKILL
 * for what is left.
 */
#ifndef SANDLEASE_AGENT_RUN_ENDING_H
#define SANDLEASE_AGENT_RUN_ENDING_H

#include "agent/base/proctree.h"
#include "agent/run/pump.h"

/*
 * Everything below root that is neither in `spare` nor below one of those.
 * The pump's wake_fd and deadline are used up, here and below.
 */
void ending_below(struct pump *p, pid_t root, const struct proctree *spare);

/*
 * Root too, which is a child of ours that has not been waited for.  It stands
 * still until what it has started is gone: a shell would go on with its list.
 */
void ending_all(struct pump *p, pid_t root);

#endif
