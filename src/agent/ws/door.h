/*
 * door.h: the session's socket for WebSockets.
 *
 * The wrapper's main thread accepts who connects and hands them to sandlease-ws,
 * a program that is started for the first and ended when nobody has been
 * connected for a while.
 */
#ifndef SANDLEASE_AGENT_WS_DOOR_H
#define SANDLEASE_AGENT_WS_DOOR_H

#include <poll.h>
#include <sys/types.h>

/* Takes over the listener. */
void ws_door_open(int listen_fd);

/*
 * What to poll, and what to call then, or after the time it returns (-1: none).
 * Both in the main thread only.
 */
enum { WS_DOOR_FDS = 2 };
int ws_door_watch(struct pollfd f[WS_DOOR_FDS]);
void ws_door_ready(const struct pollfd f[WS_DOOR_FDS]);

/*
 * Ends every connection that is open now: with a close frame where the program
 * still does what it is told, and without where it does not.  Returns when they
 * have ended; from any thread but the main one.
 */
void ws_door_bounce(void);

/* The program's; 0 while there is none. */
pid_t ws_door_pid(void);

/* The program closes what is open and ends; does not wait for that. */
void ws_door_leave(void);

/* Nobody is let in any more; those who are inside may stay. */
void ws_door_shut(void);

#endif
