/* procload.h: measures a process and all its descendants. */
#ifndef SANDLEASE_AGENT_BASE_PROCLOAD_H
#define SANDLEASE_AGENT_BASE_PROCLOAD_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Memory is what they do not share; processor time includes that of children
 * they have waited for.
 */
struct procload {
	int64_t processes, memory_bytes, cpu_us;
};

struct procload procload_below(pid_t root);

#endif
