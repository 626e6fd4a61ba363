/*
 * wake.h: wakes or repairs the session of a request that nginx could not pass
 * on.
 *
 * auth.c has admitted the request.  wake-*: the session sleeps.  Starts it and
 * tells nginx to pass the same request once more, if nginx still can.  dead-*:
 * the wrapper or relay does not answer.  Starts or repairs it and asks the
 * client to send the request again, unless the request may have been carried
 * out already.
 */
#ifndef SANDLEASE_API_GATE_WAKE_H
#define SANDLEASE_API_GATE_WAKE_H

#include "web/call.h"

void wake_session(struct call *c);
void wake_preview(struct call *c);
void dead_session(struct call *c);
void dead_preview(struct call *c);

#endif
