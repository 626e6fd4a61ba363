/*
 * dispatch.h: from a call to its handler, once, for every route.
 */
#ifndef SANDLEASE_API_ROUTE_DISPATCH_H
#define SANDLEASE_API_ROUTE_DISPATCH_H

#include "web/call.h"

/* Matches, authenticates, handles, answers, logs one line. */
void dispatch(struct call *c);

#endif
