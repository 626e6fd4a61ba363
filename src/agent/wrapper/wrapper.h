/*
 * wrapper.h: serves the calls of one session, as a process inside its cell.
 *
 * init starts the wrapper with two descriptors: WRAPPER_CHANNEL, its end of a
 * channel to init, and WRAPPER_MEMINFO (cell/launch.h).  The first message is
 * the launch, with the listening sockets; the wrapper answers when it serves.
 * Every later message is an operation that init forwards, with the caller's
 * connection as its last descriptor.
 */
#ifndef SANDLEASE_AGENT_WRAPPER_WRAPPER_H
#define SANDLEASE_AGENT_WRAPPER_WRAPPER_H

#include "common/channel.h"

/* Runs until init closes the channel, or SIGTERM has emptied the cell. */
int wrapper_main(void);

/*
 * Carries out the operation of `msg` in a thread of its own and answers on
 * `conn`.  Takes over all three arguments.
 */
void wrapper_op(json_t *msg, struct channel_fds *fds, int conn);

#endif
