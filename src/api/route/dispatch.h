/*
 * dispatch.h: finds a call's handler, checks the call and runs the handler.
 */
#ifndef SANDLEASE_API_ROUTE_DISPATCH_H
#define SANDLEASE_API_ROUTE_DISPATCH_H

#include "web/call.h"

/* Matches the route, authenticates, runs the handler or gate, logs one line. */
void dispatch(struct call *c);

#endif
