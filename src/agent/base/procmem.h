/* procmem.h: measures the memory that processes do not share. */
#ifndef SANDLEASE_AGENT_BASE_PROCMEM_H
#define SANDLEASE_AGENT_BASE_PROCMEM_H

#include <stdint.h>
#include <sys/types.h>

/* Resident bytes of the process, without shared ones; 0 if it has ended. */
int64_t procmem_own(pid_t pid);

/* The sum of procmem_own() of all processes in this pid namespace. */
int64_t procmem_all(void);

#endif
