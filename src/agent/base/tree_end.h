/*
 * tree_end.h: ending trees of processes with grace.
 *
 * Everything below a root gets SIGTERM and its time to tidy up; the root goes
 * last, so that what it is the subreaper of cannot get away from it, and it
 * stands still until then, lest it go on with its script.  What is left when
 * the grace is over is killed.
 */
#ifndef SANDLEASE_AGENT_BASE_TREE_END_H
#define SANDLEASE_AGENT_BASE_TREE_END_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "agent/base/proctree.h"

enum { TREEEND_GRACE_MS = 5000 };

struct tree_end {
	pid_t root; /* a child of ours that nobody waits for meanwhile */
	int pidfd;  /* its, borrowed */
	/* of a terminal: who ignores SIGTERM gets SIGHUP instead */
	bool hang_up;

	/* how far it is */
	struct proctree told; /* who has had SIGTERM */
	size_t next;          /* of them, whose end is waited for */
	int watch;            /* ... by this descriptor; -1: none */
	bool last;            /* only the root is left, and has been told */
	bool over;
};

/* Ends them all side by side; returns when they are dead. */
void tree_end_all(struct tree_end *trees, size_t count);

#endif
