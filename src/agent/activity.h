/*
 * activity.h: what the wrapper is busy with, for op status.
 *
 * Counters that any thread may move; a byte on a relayed port counts as work
 * that has just ended.
 */
#ifndef SANDLEASE_AGENT_ACTIVITY_H
#define SANDLEASE_AGENT_ACTIVITY_H

#include <stdint.h>

enum activity {
	ACTIVITY_RUNNING,
	ACTIVITY_STREAMS,
	ACTIVITY_RELAYS,
	ACTIVITY__MAX
};

void activity_begin(enum activity what);
void activity_end(enum activity what);

/* Something happened just now. */
void activity_touch(void);

int64_t activity_count(enum activity what);

/* Milliseconds since the last work ended; 0 while some goes on. */
int64_t activity_idle_ms(void);

#endif
