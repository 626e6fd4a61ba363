/*
 * spawn.h: starts a program of the tenant.
 *
 * The program gets descriptors 0, 1 and 2 (and 3, for a shell that needs two
 * inputs) and no other, the environment given, default signals, a session of
 * its own, and a lower limit of descriptors and a higher OOM score than the
 * wrapper.  The program is the subreaper of its descendants: a process that
 * double-forks below it stays below it.
 */
#ifndef SANDLEASE_AGENT_BASE_SPAWN_H
#define SANDLEASE_AGENT_BASE_SPAWN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "common/err.h"

struct spawn {
	const char *const *argv;
	char *const *envp;
	const char *cwd;  /* the working directory, tried first */
	bool cwd_must;    /* do not fall back to /home/user, then / */
	int in, out, err; /* borrowed */
	int more;         /* the program's descriptor 3, borrowed; 0: none */
	bool terminal;    /* make `in` the controlling terminal */
	/* files of cgroups that the program joins before it runs; borrowed */
	const int *join;
	size_t join_count;
	int64_t cpu_seconds; /* limit of each process; 0: none */
};

/* A child process that has not been waited for yet. */
struct child {
	pid_t pid;
	int pidfd;
};

/*
 * Starts the program.  If the program cannot be executed, spawn_start() fails;
 * that is no exit status.  A directory that cannot be entered is ERR_INVALID
 * "bad_cwd".
 */
int spawn_start(const struct spawn *s, struct child *c, struct err *e)
    MUST_CHECK;

/*
 * Writes text for a program to read into an unnamed file, because the text may
 * be longer than an argument can be.  Returns the file's descriptor, which the
 * caller closes; -1.
 */
int spawn_text(const char *text, size_t len, struct err *e) MUST_CHECK;

/* Waits for the child's end; returns its status as in sh (128 + signal). */
int spawn_wait(struct child *c);
/* The same; *r is its use of resources, with the children it waited for. */
int spawn_wait_usage(struct child *c, struct rusage *r);

/* spawn_wait()'s status: "exit code 139 (signal 11, Segmentation fault)". */
enum { SPAWN_HOW_MAX = 80 };
void spawn_describe(int status, char out[SPAWN_HOW_MAX]);

#endif
