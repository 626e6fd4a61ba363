/*
 * service.h: runs the event loop for the WebSockets of one session.
 *
 * Serves the connections that the wrapper hands over by WSLINK_CONTROL.  Ends
 * when the wrapper closes that channel, or when SIGTERM of the wrapper comes:
 * then all clients get a close frame first.
 */
#ifndef SANDLEASE_WS_SERVICE_H
#define SANDLEASE_WS_SERVICE_H

/* Exit status of the program. */
int service_run(void);

#endif
