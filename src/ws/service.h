/*
 * service.h: the WebSockets of one session.
 *
 * Accepts on WSLINK_LISTENER until nobody has been connected for a while, the
 * wrapper has gone, or SIGTERM asks it to say good-bye to all.  Whoever
 * connects between two lives of this program waits in the listener's queue.
 */
#ifndef SANDLEASE_WS_SERVICE_H
#define SANDLEASE_WS_SERVICE_H

#include <stdint.h>

/* Exit status of the program; `idle_ms` is that while. */
int service_run(int64_t idle_ms);

#endif
