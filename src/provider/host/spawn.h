/*
 * spawn.h: starts programs that outlive the worker which starts them.
 *
 * A worker cannot wait for such a program.  So a child of the worker starts
 * the program and ends at once: the program loses its parent, and pid 1 reaps
 * it.
 */
#ifndef SANDLEASE_PROVIDER_HOST_SPAWN_H
#define SANDLEASE_PROVIDER_HOST_SPAWN_H

#include <stdint.h>

#include "common/err.h"

enum { SPAWN_FDS_MAX = 16 };

/* The environment of started programs: nothing of the service's own. */
extern char *const SPAWN_ENVIRONMENT[];

/*
 * Calls become(arg) in a process whose parent ends at once.  become() must not
 * return: it ends in execve() or _exit().  It runs like a child of vfork(), in
 * the memory of the caller, which waits for that; so it begins with
 * spawn_reset_signals() and leaves nothing there that the caller relies on.
 */
int spawn_orphan(void (*become)(void *arg), void *arg, struct err *e)
    MUST_CHECK;

/* Between fork and exec: resets all signal handlers and the signal mask. */
void spawn_reset_signals(void);

/*
 * Between fork and exec: copies sources[i] to descriptor i and closes all other
 * descriptors.  `count` is at most SPAWN_FDS_MAX.  -1 with errno.
 */
int spawn_place_fds(const int *sources, int count) MUST_CHECK;

struct spawn {
	char *const *argv;
	const int *fds;       /* fds[i] becomes the program's descriptor i */
	int fd_count;         /* the program has no other descriptors */
	int64_t memory_bytes; /* RLIMIT_AS */
	/*
	 * Called in the new process, before its limits are set, to enter a
	 * cgroup.  If it returns -1 the program is not started.
	 */
	int (*enter)(const void *arg, struct err *e);
	const void *arg;
};

/*
 * Starts a program in the background, with a low priority and with limits for
 * memory and open files.
 */
int spawn_alone(const struct spawn *s, struct err *e) MUST_CHECK;

#endif
