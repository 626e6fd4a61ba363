/*
 * session_now.h: whether sessions are busy, as their wrappers say now.
 */
#ifndef SANDLEASE_API_V1_SESSION_NOW_H
#define SANDLEASE_API_V1_SESSION_NOW_H

#include "api/app.h"

/*
 * Completes sessions that are read from rows: `busy`, and with it `alive`.  All
 * wrappers on this host are asked at once, and at most half a second is waited
 * for them.  `busy` is null where the wrapper could not be asked: it did not
 * answer, its sandbox is on another host, or too many calls wait already.
 */
void session_now(struct call *c, struct control *ctl, json_t *sessions);

#endif
