/*
 * request.h: classifies the client's request that nginx asks about.
 */
#ifndef SANDLEASE_API_GATE_REQUEST_H
#define SANDLEASE_API_GATE_REQUEST_H

#include "web/call.h"

/*
 * A probe asks about a session's state and must not change it: a probe does not
 * count as activity and never wakes the session.
 */
bool request_is_probe(const struct call *c);

/* The request is for proxy/{port}: nginx names the port. */
bool request_is_proxied(const struct call *c);

/* The part of the path after /v1/sessions/{id}/; "": the path is another. */
const char *request_rest(const struct call *c);

/* Whether the request is the handshake of a WebSocket. */
bool request_upgrades(const struct call *c);

/*
 * GET or HEAD, but not the handshake of a WebSocket: that is a GET, but any
 * request may follow on the connection.
 */
bool request_reads_only(const struct call *c);

#endif
