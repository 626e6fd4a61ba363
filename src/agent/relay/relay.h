/*
 * relay.h: exposed ports.
 *
 * The host passes a listening unix socket per port; every connection to it
 * becomes one to that port of the cell's loopback and carries one HTTP request
 * and its response (relay/conn.h), or a tunnel that was asked for.  All of it in
 * the loop's thread.
 */
#ifndef SANDLEASE_AGENT_RELAY_RELAY_H
#define SANDLEASE_AGENT_RELAY_RELAY_H

#include <stdint.h>

#include "common/err.h"

enum { RELAYS_MAX = 64, RELAY_CONNECTIONS_MAX = 512 };

/*
 * Takes over the listener; a port relayed already gets the new one.  `order` is
 * the number of the change that wants it: one that is older than the last that
 * was carried out for the port is ERR_CONFLICT "stale_order", so that a worker
 * that was paused cannot undo what came after it.  0 is never too old.
 */
int relay_expose(int port, int64_t order, int listen_fd, struct err *e)
    MUST_CHECK;

/* Closes the listener and its open connections; fine when there is none. */
int relay_unexpose(int port, int64_t order, struct err *e) MUST_CHECK;

#endif
