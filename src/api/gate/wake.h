/*
 * wake.h: the session of a request sleeps, or its wrapper does not answer.
 *
 * auth.c has let the request in.  wake-*: starts the session and has the same
 * request sent once more, if nginx still can.  dead-*: starts or repairs what
 * did not answer, and asks the client to send the request again, unless it may
 * have been carried out already.
 */
#ifndef SANDLEASE_API_GATE_WAKE_H
#define SANDLEASE_API_GATE_WAKE_H

#include "web/call.h"

void wake_session(struct call *c);
void wake_preview(struct call *c);
void dead_session(struct call *c);
void dead_preview(struct call *c);

#endif
