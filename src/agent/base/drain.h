/*
 * drain.h: reads and discards the output of background children after their
 * command has ended.
 *
 * A server started in the background goes on printing after its command has
 * ended.  If the pipe were closed, SIGPIPE would kill the server; if the pipe
 * were not read, the server would block.
 */
#ifndef SANDLEASE_AGENT_BASE_DRAIN_H
#define SANDLEASE_AGENT_BASE_DRAIN_H

struct drain;

/* Takes over a readable, non-blocking descriptor; reads it to end of file. */
void drain_adopt(int fd);

/*
 * The same until drain_return(); fd stays the caller's.  NULL when the loop
 * could not be started.
 */
struct drain *drain_lend(int fd);
void drain_return(struct drain *d);

#endif
