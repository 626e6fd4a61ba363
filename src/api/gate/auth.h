/*
 * auth.h: may this request go to that wrapper or port?
 *
 * One statement, never provider or agent I/O.  204 names the socket; 403 has
 * the reason in a header, of which gate.c makes the answer; 401 sends nginx to
 * wake the session (wake.h).
 */
#ifndef SANDLEASE_API_GATE_AUTH_H
#define SANDLEASE_API_GATE_AUTH_H

#include "store/store.h"
#include "web/call.h"

void auth_session(struct call *c);
void auth_preview(struct call *c);

/*
 * Reads the row of a preview's port, if the token in its address is the right
 * one; else CODE_INVALID_TOKEN.
 */
int auth_read_preview(struct call *c, struct rows **r, struct err *e)
    MUST_CHECK;

#endif
