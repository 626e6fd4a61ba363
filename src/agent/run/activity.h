/*
 * activity.h: counts the wrapper's work and remembers when it was last busy,
 * for op status.
 *
 * Any thread may call these functions.  A byte on a relayed port counts as work
 * that has just ended; a connection without bytes does not count.  A probe (a
 * call with X-Sandlease-Probe) does not count at all.
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

/* Sets, and tells, whether this thread now works for a probe. */
void activity_probe(bool on);
bool activity_is_probe(void);

/* Sets the time of the last activity to now. */
void activity_touch(void);
/* The same, after a byte on a relayed port. */
void activity_relayed(void);

int64_t activity_count(enum activity what);
/* Sets the callback whose result activity_count(ACTIVITY_RUNNING) adds. */
void activity_also(int64_t (*running)(void));

/* Counts a call; and the number of calls so far. */
void activity_serve(void);
int64_t activity_served(void);

/*
 * Notes that some running work is ended at deadline_ms (of clock_ms()).
 * activity_limit_ms(): the time to the latest such deadline while work runs; 0:
 * no limit.
 */
void activity_limit(int64_t deadline_ms);
int64_t activity_limit_ms(void);
/* Sets the callback that tells the latest deadline of other running work. */
void activity_also_limit(int64_t (*deadline_ms)(void));

/* Milliseconds since the last activity_touch(), also while work runs. */
int64_t activity_quiet_ms(void);

/* Milliseconds since the last work ended; 0 while work runs. */
int64_t activity_idle_ms(void);

/* Milliseconds since the last byte on a relayed port; -1: none so far. */
int64_t activity_relay_idle_ms(void);

#endif
