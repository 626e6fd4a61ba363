/*
 * spawn.h: starts programs that are nobody's children.
 *
 * A worker must not wait for what outlives it, and pid 1 reaps what has lost
 * its parent.  So a program is started by a child that ends at once.
 */
#ifndef SANDLEASE_PROVIDER_HOST_SPAWN_H
#define SANDLEASE_PROVIDER_HOST_SPAWN_H

#include <stdint.h>

#include "common/err.h"

enum { SPAWN_FDS_MAX = 16 };

/* What a started program finds: nothing of the service's own environment. */
extern char *const SPAWN_ENVIRONMENT[];

/*
 * Calls become(arg) in a process that is nobody's child.  become() must not
 * return: it ends in execve() or _exit().  It runs after vfork(), so what it
 * writes to memory is seen by a process that only ends.
 */
int spawn_orphan(void (*become)(void *arg), void *arg, struct err *e)
    MUST_CHECK;

/* Between fork and exec: signals as a new program expects them. */
void spawn_reset_signals(void);

/*
 * Between fork and exec: puts sources[i] at descriptor i, count at most
 * SPAWN_FDS_MAX, and closes everything else.  -1 with errno.
 */
int spawn_place_fds(const int *sources, int count) MUST_CHECK;

struct spawn {
	char *const *argv;
	const int *fds; /* fds[i] becomes its descriptor i; it has no others */
	int fd_count;
	int64_t memory_bytes; /* of its address space */
	/*
	 * Called in the new process before it has limits, to enter a cgroup.
	 * -1: the program is not started.
	 */
	int (*enter)(const void *arg, struct err *e);
	const void *arg;
};

/* Starts a command line in the background: nobody's child, nice, limited. */
int spawn_alone(const struct spawn *s, struct err *e) MUST_CHECK;

#endif
