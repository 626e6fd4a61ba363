/*
 * ports.h: finishes changes of ports and revocations whose worker did not.
 */
#ifndef SANDLEASE_REAPER_PORTS_H
#define SANDLEASE_REAPER_PORTS_H

#include "reaper/pass.h"

/*
 * Closes expired ports, sends relays what their rows say, makes lost ones
 * again.
 */
void ports_settle(struct pass *p);

/* Closes WebSockets that a revoked key may have opened. */
void ports_bounce(struct pass *p);

#endif
