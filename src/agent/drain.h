/*
 * drain.h: pipes whose command is over and whose writers are not.
 *
 * A server started in the background goes on printing after its command has
 * ended; closing the pipe would kill it, not reading would block it.
 */
#ifndef SANDLEASE_AGENT_DRAIN_H
#define SANDLEASE_AGENT_DRAIN_H

/* Takes over a readable, non-blocking descriptor; reads it to its end. */
void drain_adopt(int fd);

#endif
