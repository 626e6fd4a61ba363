/*
 * git.h: clones a repository into the session.
 *
 * Runs git in a process beside the named shell, with the shell's directory and
 * variables, but without its functions and aliases.  git does not prompt and
 * runs no hooks.  A clone that fails or is killed leaves no files.
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
	const char *branch; /* NULL: the repository's default */
	int64_t depth;      /* 0: the whole history */
	int64_t timeout_ms;
	char shell[SHELL_NAME_MAX];
	struct execution execution;
};

/* The result of a clone. */
struct git_outcome {
	struct shell_outcome how;
	struct buf branch; /* the one checked out; empty: none */
	struct buf said;   /* the end of git's stderr, without secrets */
};

#define auto_git __attribute__((cleanup(git_release)))

/* -1 and a code of error.c if the clone failed; *out is set all the same. */
int git_clone(const struct git_clone *g, struct git_outcome *out, struct err *e)
    MUST_CHECK;
void git_release(struct git_outcome *o);

#endif
