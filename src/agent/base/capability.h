/*
 * capability.h: switches a capability of the calling thread on or off.
 *
 * init has some capabilities of its own user namespace, and keeps them switched
 * off (permitted, not effective) so that they cannot be used by mistake.  A
 * child of init that needs a capability switches it on for itself.
 */
#ifndef SANDLEASE_AGENT_BASE_CAPABILITY_H
#define SANDLEASE_AGENT_BASE_CAPABILITY_H

#include <stdbool.h>

/* -1 with errno when the capability is not permitted to the thread. */
int capability_use(int capability, bool on);

#endif
