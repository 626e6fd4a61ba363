/*
 * door.h: accepts WebSocket connections and hands them to sandlease-ws.
 *
 * The wrapper's main thread accepts.  It starts sandlease-ws for the first
 * connection, and ends it when there has been no connection for 15 to 30 s.
 */
#ifndef SANDLEASE_AGENT_WS_DOOR_H
#define SANDLEASE_AGENT_WS_DOOR_H

#include <poll.h>
#include <sys/types.h>

/* Takes over the listener. */
void ws_door_open(int listen_fd);

/*
 * ws_door_watch() fills in what the caller must poll, and returns the
 * milliseconds to wait (-1: no limit).  After the poll the caller calls
 * ws_door_ready().  Both in the main thread only.
 */
enum { WS_DOOR_FDS = 2 };
int ws_door_watch(struct pollfd f[WS_DOOR_FDS]);
void ws_door_ready(const struct pollfd f[WS_DOOR_FDS]);

/*
 * Ends every connection that is open now, with a close frame if the program
 * still obeys.  Returns when they have ended.  Not from the main thread.
 */
void ws_door_bounce(void);

/* Process id of the program; 0 while it does not run. */
pid_t ws_door_pid(void);

/* Tells the program to close all connections and exit; does not wait for it. */
void ws_door_leave(void);

/* Accepts no more connections; open ones stay. */
void ws_door_shut(void);

#endif
