/*
 * gate.h: what nginx asks on behalf of others (parameter SL_ROUTE).
 *
 * auth-*: may this request go to that wrapper or port (auth.h)?  deny: the
 * refusal's real status and body.  wake-*, dead-*: the session sleeps, or its
 * wrapper does not answer (wake.h).
 */
#ifndef SANDLEASE_API_GATE_GATE_H
#define SANDLEASE_API_GATE_GATE_H

#include "web/call.h"

typedef void gate_fn(struct call *c);

/* The gate of that name; NULL when there is none. */
gate_fn *gate_find(const char *route);

#endif
