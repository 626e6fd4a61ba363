/*
 * loopback.h: connects to a port on the cell's own loopback interface.
 *
 * A server may listen on 127.0.0.1, on ::1 or on both: callers try one family
 * after the other.
 */
#ifndef SANDLEASE_AGENT_BASE_LOOPBACK_H
#define SANDLEASE_AGENT_BASE_LOOPBACK_H

#include <sys/socket.h>

/*
 * Begins a non-blocking connection and returns its descriptor, which the caller
 * closes.  The descriptor is writable once the connection is made or has failed
 * (loopback_error).  -1 with errno when it failed at once.  `family`: AF_INET
 * or AF_INET6.
 */
int loopback_connect(int port, sa_family_t family);

/* The result of loopback_connect()'s connection: 0, or an errno. */
int loopback_error(int fd);

#endif
