/*
 * git.h: cloning a repository into the session.
 *
 * By git itself, in a process beside the named shell: its directory and its
 * variables hold, its functions and aliases do not.  Nothing asks, no hook
 * runs, and a clone that does not come to its end leaves no directory.
 */
#ifndef SANDLEASE_AGENT_GIT_GIT_H
#define SANDLEASE_AGENT_GIT_GIT_H

#include <stdint.h>

#include "agent/git/url.h"
#include "agent/run/execution.h"
#include "agent/shell/shell.h"
#include "common/str.h"

struct git_clone {
	const struct git_url *url;
	const char *dir;    /* absolute */
	const char *branch; /* NULL: the repository's own */
	int64_t depth;      /* 0: all of it */
	int64_t timeout_ms;
	char shell[SHELL_NAME_MAX];
	struct execution execution;
};

/* What came of it. */
struct git_outcome {
	struct shell_outcome how;
	struct buf branch; /* that is checked out; empty: none is */
	struct buf said;   /* the end of git's stderr, without secrets */
};

#define auto_git __attribute__((cleanup(git_release)))

/* A clone that failed is an error in the container's words, with *out. */
int git_clone(const struct git_clone *g, struct git_outcome *out, struct err *e)
    MUST_CHECK;
void git_release(struct git_outcome *o);

#endif
