/*
 * job.h: work on a tree of files that goes on without who began it.
 *
 * A program fills a directory, in a sandbox that sees nothing else, and
 * <dir>/report says how it went.  The program holds a lock on its report for
 * as long as it lives: whoever comes by can tell what became of it, and a
 * worker that dies or is asked for something else has broken nothing.
 *
 * What it reads may be a tenant's, and no sandbox of a class's limits it: a job has
 * CGROUP_JOB_BYTES of memory, by its address space and, where groups are
 * delegated, by one of its own; and an owner has JOB_SLOTS at once.
 */
#ifndef SANDLEASE_PROVIDER_STORE_JOB_H
#define SANDLEASE_PROVIDER_STORE_JOB_H

#include <stdint.h>

#include "common/err.h"
#include "provider/provider.h"

enum { JOB_WORDS_MAX = 4, JOB_SLOTS = 4 };

struct job {
	const char *owner; /* whose: snapshot_ref's */
	const char
	    *words[JOB_WORDS_MAX]; /* of sandlease-agent; NULL: the end */
	const char *to;   /* what it fills: a directory in `dir`, or "." */
	const char *from; /* a directory, read-only on /from; NULL: none */
	int in;           /* its standard input, borrowed; -1: none */
};

enum job_state { JOB_NONE, JOB_RUNS, JOB_DONE, JOB_FAILED };

struct job_seen {
	enum job_state state;
	int64_t entries, bytes; /* of one that is done */
	struct err why;         /* of one that failed */
};

/*
 * Begins it in `dir`, which is made.  *ended is the caller's, for job_wait().
 * ERR_BUSY "job_runs" when one is at work there already, or was; ERR_BUSY
 * "jobs_busy" when its owner has no slot free before the deadline.
 */
int job_begin(const struct provider *p, const char *dir, const struct job *j,
    int64_t deadline_ms, int *ended, struct err *e) MUST_CHECK;

/* Removes groups of jobs that have ended. */
int job_sweep(const struct provider *p, struct err *e) MUST_CHECK;

int job_look(const char *dir, struct job_seen *out, struct err *e) MUST_CHECK;

/* The same once it is over, or the deadline is. */
int job_await(const char *dir, int64_t deadline_ms, struct job_seen *out,
    struct err *e) MUST_CHECK;
/* ... for who began it, and need not look again and again. */
int job_wait(const char *dir, int ended, int64_t deadline_ms,
    struct job_seen *out, struct err *e) MUST_CHECK;

#endif
