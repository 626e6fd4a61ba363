/*
 * ws_door.h: who answers the session's socket for WebSockets.
 *
 * sandlease-ws does, a program that is started when somebody connects and ends
 * when nobody is connected any more: until then a descriptor that the wrapper's
 * main thread polls along with its others is all there is.
 */
#ifndef SANDLEASE_AGENT_WS_DOOR_H
#define SANDLEASE_AGENT_WS_DOOR_H

/* Takes over the listener. */
void ws_door_open(int listen_fd);

/*
 * What to poll for POLLIN, and what to call then: the listener, or the channel
 * of the program that has it.  Both in the main thread only.
 */
int ws_door_fd(void);
void ws_door_ready(void);

/* All who are inside must come again; from any thread. */
void ws_door_bounce(void);

/* Nobody is let in any more; those who are inside may stay. */
void ws_door_shut(void);

#endif
