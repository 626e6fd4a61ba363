/*
 * fault.h: dying, stopping and failing on purpose, in a test build only.
 *
 * CRASH_POINT("room.step") stands at every boundary between an intent, its
 * effect and its outcome.  It is nothing unless configured with
 * --enable-faults.  Then a process dies there (SIGKILL) or stops (SIGSTOP),
 *
 *   SANDLEASE_CRASH_AT=name[:nth]   at its own nth pass, likewise
 *   SANDLEASE_PAUSE_AT=name[:nth]
 *   SANDLEASE_FAULTS=dir            at the first pass of anybody while there
 *                                   is a file dir/crash@name or dir/pause@name,
 *                                   which becomes dir/fired@name.<pid>
 *
 * and calls of a provider and of the agent fail or hang as dir/provider says,
 * a line each; `*` is every call:
 *
 *   provider-fail: ensure 0.1       chance; half of the time only the answer
 *                                   is lost
 *   provider-full: storage_make 1   chance of no space left; to `capacity`:
 *                                   nothing is free
 *   provider-hang: stop 3s [0.5]    before the effect, with that chance
 *
 * dir/trace, if it is there, gets the name of every point that is passed.
 */
#ifndef SANDLEASE_COMMON_FAULT_H
#define SANDLEASE_COMMON_FAULT_H

#include "common/err.h"

#ifdef WITH_FAULTS

void fault_point(const char *name);
/* -1 when the call is to fail before, or after, its effect. */
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
