/*
 * loopback.h: connections to a port of the cell's own loopback.
 *
 * A server listens on 127.0.0.1, on ::1 or on both: who wants to reach it
 * tries one after the other.
 */
#ifndef SANDLEASE_AGENT_BASE_LOOPBACK_H
#define SANDLEASE_AGENT_BASE_LOOPBACK_H

#include <sys/socket.h>

/*
 * Begins a connection, which is writable once it stands or has failed
 * (loopback_error); the caller closes it.  -1 with errno when it failed at
 * once.  `family`: AF_INET or AF_INET6.
 */
int loopback_connect(int port, sa_family_t family);

/* How a connection that was begun has ended: 0, or an errno. */
int loopback_error(int fd);

#endif
