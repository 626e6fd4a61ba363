/*
 * child.h: sets up signals in a child of the master.
 */
#ifndef SANDLEASE_API_CHILD_H
#define SANDLEASE_API_CHILD_H

#include <signal.h>

/*
 * SIGTERM sets the returned flag and interrupts a sleep or an accept (EINTR).
 * SIGINT and SIGHUP are ignored: the master sends SIGTERM.
 */
const volatile sig_atomic_t *child_signals(void);

#endif
