/*
 * relay.h: exposed ports.
 *
 * The host passes a listening unix socket per port; every connection to it
 * becomes one to that port of the cell's loopback and carries one HTTP request
 * and its response (relay_conn.h), or a tunnel that was asked for.  All of it in
 * the loop's thread.
 */
#ifndef SANDLEASE_AGENT_RELAY_H
#define SANDLEASE_AGENT_RELAY_H

#include "common/err.h"

enum { RELAYS_MAX = 64, RELAY_CONNECTIONS_MAX = 512 };

/* Takes over the listener; a port relayed already gets the new one. */
int relay_expose(int port, int listen_fd, struct err *e) MUST_CHECK;

/* Closes the listener and its open connections; fine when there is none. */
int relay_unexpose(int port, struct err *e) MUST_CHECK;

#endif
