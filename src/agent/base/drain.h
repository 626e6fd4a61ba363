/*
 * drain.h: reads and discards what background children write after their
 * command has ended.
 *
 * A server started in the background goes on printing after its command has
 * ended; closing the pipe would kill it, not reading would block it.
 */
#ifndef SANDLEASE_AGENT_BASE_DRAIN_H
#define SANDLEASE_AGENT_BASE_DRAIN_H

struct drain;

/* Takes over a readable, non-blocking descriptor; reads it to its end. */
void drain_adopt(int fd);

/*
 * The same for a while: it is read, and stays the caller's, until
 * drain_return().  NULL when nobody can.
 */
struct drain *drain_lend(int fd);
void drain_return(struct drain *d);

#endif
