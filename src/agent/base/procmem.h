/* procmem.h: memory that processes have for themselves. */
#ifndef SANDLEASE_AGENT_BASE_PROCMEM_H
#define SANDLEASE_AGENT_BASE_PROCMEM_H

#include <stdint.h>
#include <sys/types.h>

/* Bytes that are this process's own: resident, less what it shares. */
int64_t procmem_own(pid_t pid);

/* Those of all processes of this pid namespace. */
int64_t procmem_all(void);

#endif
