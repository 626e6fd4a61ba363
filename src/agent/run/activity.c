/* activity.c: counts the wrapper's work and remembers when it was last busy. */
#include "agent/run/activity.h"

#include <stdatomic.h>

#include "common/clock.h"

static atomic_llong counts[ACTIVITY__MAX];
static atomic_llong last_ms;
static atomic_llong relayed_ms; /* 0: never */
static _Thread_local bool probing;
static atomic_llong limit_at; /* the latest time limit of running work */
static atomic_llong served;
static int64_t (*also_running)(void);
static int64_t (*_Atomic also_limit)(void);

void
activity_probe(bool on)
{
	probing = on;
}

bool
activity_is_probe(void)
{
	return probing;
}

void
activity_touch(void)
{
	if (!probing)
		atomic_store(&last_ms, clock_ms());
}

void
activity_relayed(void)
{
	atomic_store(&relayed_ms, clock_ms());
	activity_touch();
}

void
activity_begin(enum activity what)
{
	if (probing)
		return;
	atomic_fetch_add(&counts[what], 1);
	if (what != ACTIVITY_RELAYS)
		activity_touch();
}

void
activity_end(enum activity what)
{
	if (probing)
		return;
	/* before the count: a reader in between must not see an old time */
	if (what != ACTIVITY_RELAYS)
		activity_touch();
	atomic_fetch_sub(&counts[what], 1);
}

int64_t
activity_count(enum activity what)
{
	int64_t also = what == ACTIVITY_RUNNING && also_running != NULL
	    ? also_running()
	    : 0;

	return atomic_load(&counts[what]) + also;
}

void
activity_also(int64_t (*running)(void))
{
	also_running = running;
}

void
activity_serve(void)
{
	atomic_fetch_add(&served, 1);
	activity_touch();
}

int64_t
activity_served(void)
{
	return atomic_load(&served);
}

void
activity_limit(int64_t deadline_ms)
{
	long long seen = atomic_load(&limit_at);

	while (deadline_ms > seen &&
	    !atomic_compare_exchange_weak(&limit_at, &seen, deadline_ms))
		;
}

void
activity_also_limit(int64_t (*deadline_ms)(void))
{
	atomic_store(&also_limit, deadline_ms);
}

int64_t
activity_limit_ms(void)
{
	int64_t (*also)(void) = atomic_load(&also_limit);
	int64_t at = atomic_load(&limit_at), other = also != NULL ? also() : 0;

	return activity_count(ACTIVITY_RUNNING) > 0
	    ? clock_left_ms(at > other ? at : other)
	    : 0;
}

int64_t
activity_quiet_ms(void)
{
	int64_t quiet = clock_ms() - atomic_load(&last_ms);

	return quiet > 0 ? quiet : 0;
}

int64_t
activity_idle_ms(void)
{
	int64_t idle;

	/* an open connection to a port is no work, bytes on it are */
	if (activity_count(ACTIVITY_RUNNING) > 0 ||
	    activity_count(ACTIVITY_STREAMS) > 0)
		return 0;
	idle = clock_ms() - atomic_load(&last_ms);
	return idle > 0 ? idle : 0;
}

int64_t
activity_relay_idle_ms(void)
{
	int64_t last = atomic_load(&relayed_ms);

	return last > 0 ? clock_ms() - last : -1;
}
