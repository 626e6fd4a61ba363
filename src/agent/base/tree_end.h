/*
 * tree_end.h: ends process trees: SIGTERM, a grace period, SIGKILL.
 *
 * Every descendant of a root gets SIGTERM and time to clean up.  The root gets
 * SIGTERM last, because it is the subreaper: without it, descendants could
 * escape.  Until then the root is stopped, so that a shell does not go on with
 * its script.  Processes that are left after the grace period are killed.
 */
#ifndef SANDLEASE_AGENT_BASE_TREE_END_H
#define SANDLEASE_AGENT_BASE_TREE_END_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "agent/base/proctree.h"

enum { TREE_END_GRACE_MS = 5000 };

struct tree_end {
	pid_t root; /* a child of the caller, not waited for before the end */
	int pidfd;  /* of root, borrowed */
	/* a terminal: processes that ignore SIGTERM get SIGHUP instead */
	bool hang_up;

	/* used by tree_end_all() only */
	struct proctree signalled; /* processes that have had SIGTERM */
	size_t next;               /* of `signalled`, the next to wait for */
	int watch;                 /* pidfd that is waited for; -1: none */
	bool last;                 /* only the root is left, and has SIGTERM */
	bool over;
};

/* Ends all trees at the same time; returns when they have ended. */
void tree_end_all(struct tree_end *trees, size_t count);

#endif
