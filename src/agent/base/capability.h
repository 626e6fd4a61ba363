/*
 * capability.h: using a capability only while it is needed.
 *
 * init has some of its own user namespace.  One that it keeps but does not use
 * cannot be used by mistake; a child of init's switches it on for itself.
 */
#ifndef SANDLEASE_AGENT_BASE_CAPABILITY_H
#define SANDLEASE_AGENT_BASE_CAPABILITY_H

#include <stdbool.h>

/* Of the calling thread; -1 and errno where it does not have it. */
int capability_use(int capability, bool on);

#endif
