/*
 * request.h: what kind of request it is that nginx asks about.
 */
#ifndef SANDLEASE_API_GATE_REQUEST_H
#define SANDLEASE_API_GATE_REQUEST_H

#include "web/call.h"

/*
 * A probe asks how a session is and must not change it: it is no activity and
 * wakes nothing.
 */
bool request_is_probe(const struct call *c);

/* The request is for proxy/{port}: nginx names the port. */
bool request_is_proxied(const struct call *c);

/*
 * GET or HEAD.  A WebSocket begins as a GET, and then anything may be said on
 * it: it is none of these.
 */
bool request_reads_only(const struct call *c);

#endif
