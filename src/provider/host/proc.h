/*
 * proc.h: processes that are not our children.
 *
 * A pid alone names nobody for long; pid and start time name one process of
 * one boot.  A zombie is absent: it runs nothing and holds nothing.
 */
#ifndef SANDLEASE_PROVIDER_HOST_PROC_H
#define SANDLEASE_PROVIDER_HOST_PROC_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

struct proc {
	int64_t pid;   /* 0: nobody */
	int64_t start; /* in clock ticks since boot */
};

/* The process that has this pid now; *out is nobody when there is none. */
int proc_find(int64_t pid, struct proc *out, struct err *e) MUST_CHECK;

/* Whether this very process still runs. */
int proc_lives(const struct proc *p, bool *out, struct err *e) MUST_CHECK;

/* The first living child of a process; *out is nobody when it has none. */
int proc_child(const struct proc *parent, struct proc *out, struct err *e)
    MUST_CHECK;

/* SIGKILLs this very process, never one that took its number. */
int proc_kill(const struct proc *p, struct err *e) MUST_CHECK;

/* Sleeps a little, less when the deadline is near. */
void proc_nap(int64_t deadline_ms);

#endif
