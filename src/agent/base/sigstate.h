/* sigstate.h: tells whether a process catches or ignores a signal (/proc). */
#ifndef SANDLEASE_AGENT_BASE_SIGSTATE_H
#define SANDLEASE_AGENT_BASE_SIGSTATE_H

#include <stdbool.h>
#include <sys/types.h>

/* False, too, when the process has ended. */
bool sigstate_catches(pid_t pid, int sig);
bool sigstate_ignores(pid_t pid, int sig);

#endif
