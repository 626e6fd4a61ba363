/*
 * proc.h: finds and kills processes that are not our children.
 *
 * The kernel reuses pids, so a process is known by its pid and start time,
 * which are unique within one boot.  A zombie counts as absent: it runs nothing
 * and holds nothing.
 */
#ifndef SANDLEASE_PROVIDER_HOST_PROC_H
#define SANDLEASE_PROVIDER_HOST_PROC_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

struct proc {
	int64_t pid;   /* 0: no process */
	int64_t start; /* in clock ticks since boot */
};

/* The process that has this pid now; out->pid is 0 when there is none. */
int proc_find(int64_t pid, struct proc *out, struct err *e) MUST_CHECK;

/* Processor time of a process and of the children it has waited for. */
struct proc_use {
	int64_t threads, user_us, sys_us;
};
/* *found is false when no process has this pid. */
int proc_use(int64_t pid, struct proc_use *out, bool *found, struct err *e)
    MUST_CHECK;

/* Whether the process `p` still runs, not another one with the same pid. */
int proc_lives(const struct proc *p, bool *out, struct err *e) MUST_CHECK;

/* The first living child of `parent`; out->pid is 0 when it has none. */
int proc_child(const struct proc *parent, struct proc *out, struct err *e)
    MUST_CHECK;

/* Sends SIGKILL to the process `p`, never to another one with its pid. */
int proc_kill(const struct proc *p, struct err *e) MUST_CHECK;

/* Sleeps 2 ms, or until the deadline if that comes first. */
void proc_nap(int64_t deadline_ms);

#endif
