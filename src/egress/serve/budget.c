/* budget.c: limits how many bytes a session passes in a second. */
#include "common/clock.h"
#include "egress/serve/serve.h"

enum { REFILL_MS = 50, MS_PER_S = 1000, BYTES_PER_MB = 1000 * 1000 };

/* Bytes of one second; 0: no limit. */
static int64_t
rate(const struct session *s)
{
	return s->of->conf->egress_mb_per_second * BYTES_PER_MB;
}

/* Adds the bytes of the time that has passed, at most those of a second. */
static void
refill(struct session *s)
{
	int64_t now = clock_ms();
	int64_t more = rate(s) / MS_PER_S * (now - s->budget_at_ms);

	s->budget_at_ms = now;
	s->budget += more;
	if (s->budget > rate(s))
		s->budget = rate(s);
}

static void
on_refill(struct loop_timer *t)
{
	struct session *s = (struct session *)(void *)((char *)t -
	    offsetof(struct session, budget_timer));

	if (budget_left(s))
		s->refilled(s);
}

void
budget_open(struct session *s, void (*refilled)(struct session *s))
{
	s->refilled = refilled;
	s->budget = rate(s);
	s->budget_at_ms = clock_ms();
	s->budget_timer.fire = on_refill;
}

bool
budget_left(struct session *s)
{
	if (rate(s) == 0)
		return true;
	refill(s);
	if (s->budget > 0)
		return true;
	if (s->budget_timer.index == 0)
		loop_set(&s->of->loop, &s->budget_timer,
		    clock_ms() + REFILL_MS);
	return false;
}

/* A read may take a little more than is left: the next refill is less then. */
void
budget_take(struct session *s, size_t bytes)
{
	s->budget -= (int64_t)bytes;
}
