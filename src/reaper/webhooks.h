/*
 * webhooks.h: sends webhooks that nobody has sent, and forgets old ones.
 */
#ifndef SANDLEASE_REAPER_WEBHOOKS_H
#define SANDLEASE_REAPER_WEBHOOKS_H

#include "reaper/pass.h"

/*
 * Takes a few seconds at most, whatever servers do: a pass has better things to
 * do than to wait for them.
 */
void webhooks_send(struct pass *p);

#endif
