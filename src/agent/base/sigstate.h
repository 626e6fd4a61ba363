/*
 * sigstate.h: what a process does about a signal, as /proc says.
 */
#ifndef SANDLEASE_AGENT_BASE_SIGSTATE_H
#define SANDLEASE_AGENT_BASE_SIGSTATE_H

#include <stdbool.h>
#include <sys/types.h>

/* Whether it has a handler for it; whether it ignores it. */
bool sigstate_catches(pid_t pid, int sig);
bool sigstate_ignores(pid_t pid, int sig);

#endif
