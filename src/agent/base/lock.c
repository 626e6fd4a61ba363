/*
 * lock.c: aborts the agent when a thread takes its locks out of order.
 *
 * A wrong order deadlocks only when two threads meet, which a test seldom sees.
 * So each thread remembers which locks it holds, and lock_check_take() checks
 * the order whenever a lock is taken.
 */
#include "agent/base/lock.h"

#include <stdlib.h>

#include "common/log.h"

#define LOCK_NAME_(rank, name, where, protects) [rank] = name,
static const char *const NAMES[] = { LOCKS(LOCK_NAME_) };

/* A bit for each rank: no thread holds two locks of one rank. */
static _Thread_local uint32_t held;
_Static_assert(LOCK__MAX <= 32, "`held` needs a bit for each lock");

void
lock_check_take(const struct lock *l)
{
	uint32_t later = held >> l->rank;
	int rank = (int)l->rank;

	if (later != 0) {
		while ((later >>= 1) != 0)
			rank++;
		log_line(LOG_ERROR, "lock_order",
		    "lock order: `%s` taken while `%s` is held", NAMES[l->rank],
		    NAMES[rank]);
		abort();
	}
	held |= 1U << l->rank;
}

void
lock_check_held(const struct lock *l)
{
	if ((held & 1U << l->rank) == 0) {
		log_line(LOG_ERROR, "lock_order",
		    "lock order: `%s` is not held by the thread that drops it or waits with it",
		    NAMES[l->rank]);
		abort();
	}
}

void
lock_check_drop(const struct lock *l)
{
	lock_check_held(l);
	held &= ~(1U << l->rank);
}
