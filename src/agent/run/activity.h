/*
 * activity.h: what the wrapper is busy with, for op status.
 *
 * Counters that any thread may move; a byte on a relayed port counts as work
 * that has just ended, a connection without one does not.  What a probe does
 * (X-Sandlease-Probe) does not count at all.
 */
#ifndef SANDLEASE_AGENT_RUN_ACTIVITY_H
#define SANDLEASE_AGENT_RUN_ACTIVITY_H

#include <stdbool.h>
#include <stdint.h>

enum activity {
	ACTIVITY_RUNNING,
	ACTIVITY_STREAMS,
	ACTIVITY_RELAYS,
	ACTIVITY__MAX
};

void activity_begin(enum activity what);
void activity_end(enum activity what);

/* Whether what this thread does from now on is a probe's; and whether it is. */
void activity_probe(bool on);
bool activity_is_probe(void);

/* Something happened just now. */
void activity_touch(void);
/* A byte has passed a relayed port. */
void activity_relayed(void);

int64_t activity_count(enum activity what);
/* What else runs, counted when somebody wants to know.  Once. */
void activity_also(int64_t (*running)(void));

/* A call came in; and how many did. */
void activity_serve(void);
int64_t activity_served(void);

/* What runs will be ended at this time; and how long that is, 0: no limit. */
void activity_limit(int64_t deadline_ms);
int64_t activity_limit_ms(void);

/* Milliseconds since anything happened at all, work or not. */
int64_t activity_quiet_ms(void);

/* Milliseconds since the last work ended; 0 while some goes on. */
int64_t activity_idle_ms(void);

/* Milliseconds since the last byte on a relayed port; -1: there was none. */
int64_t activity_relay_idle_ms(void);

#endif
