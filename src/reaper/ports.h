/*
 * ports.h: changes of ports and revocations that nobody has finished.
 */
#ifndef SANDLEASE_REAPER_PORTS_H
#define SANDLEASE_REAPER_PORTS_H

#include "reaper/pass.h"

/* Expired ports are closed, relays told what their rows say, lost ones made. */
void ports_settle(struct pass *p);

/* WebSockets that a revoked key may have opened are closed. */
void ports_bounce(struct pass *p);

#endif
