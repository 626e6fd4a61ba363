/*
 * session_now.h: asks wrappers whether their sessions are busy.
 */
#ifndef SANDLEASE_API_V1_SESSION_NOW_H
#define SANDLEASE_API_V1_SESSION_NOW_H

#include "api/app.h"

/*
 * Completes sessions that are read from rows: sets `busy`, and with it `alive`.
 * Asks all wrappers on this host at once, and waits for half a second at most.
 * `busy` is null if the wrapper did not answer, if its sandbox is on another
 * host, or if too many calls wait already.
 */
void session_now(struct call *c, struct control *ctl, json_t *sessions);

/* The same for a session that was proved just now: it runs nothing yet. */
void session_now_idle(json_t *session);

#endif
