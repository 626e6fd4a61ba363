/*
 * ending.h: ends the processes of a command while its output is still passed
 * on.
 *
 * Sends SIGTERM, waits up to a second in which output still reaches the client,
 * then sends SIGKILL to the processes that are left.
 */
#ifndef SANDLEASE_AGENT_RUN_ENDING_H
#define SANDLEASE_AGENT_RUN_ENDING_H

#include "agent/base/proctree.h"
#include "agent/run/pump.h"

/*
 * Ends every descendant of root that is neither in `spare` nor below a process
 * in `spare`.  Both functions overwrite the pump's wake_fd and deadline_ms.
 */
void ending_below(struct pump *p, pid_t root, const struct proctree *spare);

/*
 * Ends root, too: a child of the wrapper that has not been waited for.  root is
 * stopped until its descendants have ended: a shell would go on with the next
 * command of its list.
 */
void ending_all(struct pump *p, pid_t root);

#endif
