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

/*
 * Adds up the processor time of each process that was ever seen.  The kernel
 * gives that of a child whose parent ignores SIGCHLD to nobody.
 */
struct procload_seen {
	struct procload_one *now; /* owned; those that lived at the last look */
	size_t count;
	int64_t gone_us; /* of those that have ended since */
};

int64_t procload_seen_us(struct procload_seen *s, pid_t root);
void procload_seen_free(struct procload_seen *s);

#endif
