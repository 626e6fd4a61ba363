/*
 * service.h: the WebSockets of one session.
 *
 * Accepts on WSLINK_LISTENER until nobody has been connected for a while, the
 * wrapper has gone, or SIGTERM asks it to say good-bye to all.  Whoever
 * connects between two lives of this program waits in the listener's queue.
 */
#ifndef SANDLEASE_WS_SERVICE_H
#define SANDLEASE_WS_SERVICE_H

/* Exit status of the program. */
int service_run(void);

#endif
