/*
 * relay.h: relays connections from the host to exposed ports of the cell.
 *
 * The host passes a listening unix socket for each port.  The relay connects
 * each client of that socket to the same port on the cell's loopback.  A
 * connection carries one HTTP request and its response (relay/conn.h), or a
 * WebSocket if the request asks for the upgrade.  All of it runs in the loop's
 * thread.
 */
#ifndef SANDLEASE_AGENT_RELAY_RELAY_H
#define SANDLEASE_AGENT_RELAY_RELAY_H

#include <stdint.h>

#include "common/err.h"

enum { RELAYS_MAX = 64, RELAY_CONNECTIONS_MAX = 512 };

/*
 * Relays the port and takes ownership of listen_fd, which replaces an earlier
 * listener of that port.  `order` is the number of the change.  A number lower
 * than the last one carried out for the port is ERR_CONFLICT "stale_order":
 * a worker that was paused must not undo a later change.  0 is never too old.
 */
int relay_expose(int port, int64_t order, int listen_fd, struct err *e)
    MUST_CHECK;

/*
 * Closes the port's listener and its open connections.  Succeeds also when the
 * port is not relayed.  `order` as above.
 */
int relay_unexpose(int port, int64_t order, struct err *e) MUST_CHECK;

#endif
