/*
 * auth.h: decides whether a request may go to a session's wrapper or port.
 *
 * Runs one statement, and never talks to a provider or agent.  The answer is
 * for nginx.  204 names the socket.  403 has the reason in a header, from which
 * gate.c makes the client's answer.  401 tells nginx to wake the session
 * (wake.h).
 */
#ifndef SANDLEASE_API_GATE_AUTH_H
#define SANDLEASE_API_GATE_AUTH_H

#include "store/store.h"
#include "web/call.h"

void auth_session(struct call *c);
void auth_preview(struct call *c);

/*
 * Reads the row of a preview's port.  CODE_INVALID_TOKEN if the token in the
 * preview's URL is not the port's.
 */
int auth_read_preview(struct call *c, struct rows **r, struct err *e)
    MUST_CHECK;

#endif
