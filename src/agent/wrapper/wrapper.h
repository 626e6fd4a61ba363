/*
 * wrapper.h: the process that serves one session, inside its cell.
 *
 * Started with its end of a channel to init as WRAPPER_CHANNEL, with
 * WRAPPER_MEMINFO (cell/launch.h) and nothing else.  The first message is the
 * launch itself with the listening sockets; it answers once it serves.  Every
 * later one is an operation that init forwards, with the asker's connection as
 * its last descriptor.
 */
#ifndef SANDLEASE_AGENT_WRAPPER_WRAPPER_H
#define SANDLEASE_AGENT_WRAPPER_WRAPPER_H

#include "common/channel.h"

/* Runs until init closes the channel, or SIGTERM has emptied the cell. */
int wrapper_main(void);

/*
 * Does what a forwarded message asks and answers on `conn`; takes over all
 * three.  Answers in a thread of its own.
 */
void wrapper_op(json_t *msg, struct channel_fds *fds, int conn);

#endif
