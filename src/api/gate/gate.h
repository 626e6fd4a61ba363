/*
 * gate.h: finds the gate that answers an internal request of nginx.
 *
 * nginx asks about a client's request; its parameter SL_ROUTE names the gate.
 * auth-* decides whether the request may go to a wrapper or port (auth.h).
 * deny makes status and body of a refusal.  wake-* and dead-* are for a session
 * that sleeps, or whose wrapper does not answer (wake.h).
 */
#ifndef SANDLEASE_API_GATE_GATE_H
#define SANDLEASE_API_GATE_GATE_H

#include "web/call.h"

typedef void gate_fn(struct call *c);

/* The gate with that name; NULL: there is none. */
gate_fn *gate_find(const char *route);

#endif
