/*
 * service.h: the WebSockets of one session.
 *
 * Serves the connections that the wrapper hands over by WSLINK_CONTROL, until the
 * wrapper closes that, or SIGTERM asks to say good-bye to all.
 */
#ifndef SANDLEASE_WS_SERVICE_H
#define SANDLEASE_WS_SERVICE_H

/* Exit status of the program. */
int service_run(void);

#endif
