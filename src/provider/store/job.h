/*
 * job.h: starts a program that works on files in the background, and reads how
 * it ended.
 *
 * The program fills a directory, in a sandbox that sees nothing else, and
 * writes its result to <dir>/report.  It holds a lock on the report for as long
 * as it lives.  So any worker can tell whether the job runs and how it ended,
 * and the worker that started it may die or do something else.
 *
 * The program may read a tenant's data, and no class limits it.  So a job has
 * CGROUP_JOB_BYTES of memory, by RLIMIT_AS and, where cgroups are delegated, by
 * a cgroup of its own.  An owner has at most JOB_SLOTS jobs at once.
 */
#ifndef SANDLEASE_PROVIDER_STORE_JOB_H
#define SANDLEASE_PROVIDER_STORE_JOB_H

#include <stdint.h>

#include "common/err.h"
#include "provider/provider.h"

enum { JOB_WORDS_MAX = 4, JOB_SLOTS = 4 };

struct job {
	const char *owner; /* of the snapshot: snapshot_ref.owner */
	/* arguments of sandlease-agent; NULL at the end */
	const char *words[JOB_WORDS_MAX];
	const char *to;   /* the directory to fill: a name in `dir`, or "." */
	const char *from; /* a directory, read-only at /from; NULL: none */
	int in;           /* standard input, borrowed; -1: /dev/null */
};

enum job_state { JOB_NONE, JOB_RUNS, JOB_DONE, JOB_FAILED };

struct job_seen {
	enum job_state state;
	int64_t entries, bytes; /* of JOB_DONE */
	struct err why;         /* of JOB_FAILED */
};

/*
 * Makes `dir` and starts a job in it.  *ended is a descriptor for job_wait(),
 * which the caller closes.  ERR_BUSY "job_runs" when `dir` has had a job
 * already; ERR_BUSY "jobs_busy" when the owner has no free slot before the
 * deadline.
 */
int job_begin(const struct provider *p, const char *dir, const struct job *j,
    int64_t deadline_ms, int *ended, struct err *e) MUST_CHECK;

/* Removes the cgroups of jobs that have ended. */
int job_sweep(const struct provider *p, struct err *e) MUST_CHECK;

/* Tells how far the job in `dir` is; does not wait. */
int job_look(const char *dir, struct job_seen *out, struct err *e) MUST_CHECK;

/* Polls job_look() until the job has ended or the deadline is over. */
int job_await(const char *dir, int64_t deadline_ms, struct job_seen *out,
    struct err *e) MUST_CHECK;
/* The same for the caller of job_begin(), without polling: `ended` wakes it. */
int job_wait(const char *dir, int ended, int64_t deadline_ms,
    struct job_seen *out, struct err *e) MUST_CHECK;

#endif
