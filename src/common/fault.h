/*
 * fault.h: makes processes die, stop and fail on purpose, in test builds only.
 *
 * CRASH_POINT("room.step") stands at every boundary between an intent, its
 * effect and its outcome.  It compiles to nothing unless configured with
 * --enable-faults.  The environment says where a process dies (SIGKILL) or
 * stops (SIGSTOP):
 *
 *   SANDLEASE_CRASH_AT=name[:nth]   when this process passes the point for the
 *   SANDLEASE_PAUSE_AT=name[:nth]   nth time
 *   SANDLEASE_FAULTS=dir            when the first process passes the point
 *                                   while there is a file dir/crash@name or
 *                                   dir/pause@name; the file is renamed to
 *                                   dir/fired@name.<pid>
 *
 * The file dir/provider makes calls of a provider and of the agent fail or
 * hang.  Each line names a call, or `*` for every call:
 *
 *   provider-fail: ensure 0.1       fails with this chance; half of the time
 *                                   the effect happens and only the answer is
 *                                   lost
 *   provider-full: storage_make 1   chance of no space left; for `capacity`:
 *                                   nothing is free
 *   provider-hang: stop 3s [0.5]    hangs before the effect, with this chance
 *
 * If the file dir/trace exists, each point that is passed adds its name to it.
 */
#ifndef SANDLEASE_COMMON_FAULT_H
#define SANDLEASE_COMMON_FAULT_H

#include "common/err.h"

#ifdef WITH_FAULTS

void fault_point(const char *name);
/* -1 when the call shall fail before, or after, its effect. */
int fault_before(const char *what, const char *op, struct err *e) MUST_CHECK;
int fault_after(const char *what, const char *op, struct err *e) MUST_CHECK;

#define CRASH_POINT(name) fault_point(name)

#else

#define CRASH_POINT(name) ((void)0)

static inline int MUST_CHECK
fault_before(const char *what, const char *op, struct err *e)
{
	(void)what;
	(void)op;
	(void)e;
	return 0;
}

static inline int MUST_CHECK
fault_after(const char *what, const char *op, struct err *e)
{
	(void)what;
	(void)op;
	(void)e;
	return 0;
}

#endif
#endif
