/*
 * child.h: what every process below the master does about signals.
 */
#ifndef SANDLEASE_API_CHILD_H
#define SANDLEASE_API_CHILD_H

#include <signal.h>

/*
 * SIGTERM sets the flag that is returned and ends whatever sleeps or accepts;
 * the rest is the master's.
 */
const volatile sig_atomic_t *child_signals(void);

#endif
