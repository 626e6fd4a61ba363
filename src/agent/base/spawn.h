/*
 * spawn.h: starting a program of the tenant's.
 *
 * It gets descriptors 0, 1 and 2 (and 3, for a shell that needs two inputs) and
 * no other, the environment given, default signals, a session of its own, fewer
 * descriptors and a higher oom score than ours, and is the subreaper of what it starts: whatever
 * double-forks below it stays below it.
 */
#ifndef SANDLEASE_AGENT_BASE_SPAWN_H
#define SANDLEASE_AGENT_BASE_SPAWN_H

#include <stddef.h>
#include <sys/types.h>

#include "common/err.h"

struct spawn {
	const char *const *argv;
	char *const *envp;
	const char *cwd;  /* tried first */
	bool cwd_must;    /* else $HOME and / will do as well */
	int in, out, err; /* borrowed */
	int more;         /* its descriptor 3, borrowed; 0: none */
	bool terminal;    /* `in` is one, and becomes that of its session */
};

/* A child of ours that nobody has waited for yet. */
struct child {
	pid_t pid;
	int pidfd;
};

/*
 * Starts it.  A program that cannot be executed is an error here, not an exit
 * status; a directory that cannot be entered is ERR_INVALID "bad_cwd".
 */
int spawn_start(const struct spawn *s, struct child *c, struct err *e)
    MUST_CHECK;

/*
 * Text for a program to read, as a file without a name: it may be longer than
 * an argument.  Its descriptor, the caller's; -1.
 */
int spawn_text(const char *text, size_t len, struct err *e) MUST_CHECK;

/* Waits for its end; returns its status as a shell would (128 + signal). */
int spawn_wait(struct child *c);

/* Such a status in words: "exit code 139 (signal 11, Segmentation fault)". */
enum { SPAWN_HOW_MAX = 80 };
void spawn_describe(int status, char out[SPAWN_HOW_MAX]);

#endif
