/* ending.c: ending what a command has started while its output still flows. */
#include "agent/ending.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>

#include "common/clock.h"

enum { GRACE_MS = 1000, NAP_MS_MAX = 50 };

/*
 * A tree tells nobody that it is gone, so it is looked at again and again; the
 * pump says if its process ends or its shell is through with the command.
 */
struct watch {
	struct pump *pump;
	bool over; /* nothing more will flow */
	int nap_ms;
};

static void
pass_time(struct watch *w)
{
	w->nap_ms = w->nap_ms < NAP_MS_MAX / 2 ? 2 * w->nap_ms + 1 : NAP_MS_MAX;
	if (w->over) {
		(void)poll(NULL, 0, w->nap_ms);
		return;
	}
	w->pump->deadline_ms = clock_ms() + w->nap_ms;
	w->over = pump_run(w->pump) != PUMP_TIMEOUT;
}

/* False when some are left at `end_ms`. */
static bool
term_below(struct watch *w, pid_t root, const struct proctree *spare,
    int64_t end_ms)
{
	size_t left = proctree_signal(root, spare, SIGTERM);

	while (left > 0 && clock_left_ms(end_ms) > 0) {
		pass_time(w);
		left = proctree_signal(root, spare, 0);
	}
	return left == 0;
}

void
ending_below(struct pump *p, pid_t root, const struct proctree *spare)
{
	struct watch w = { .pump = p };

	if (!term_below(&w, root, spare, clock_ms() + GRACE_MS))
		proctree_kill_below(root, spare);
}

void
ending_all(struct pump *p, pid_t root)
{
	struct watch w = { .pump = p };
	int64_t end_ms = clock_ms() + GRACE_MS;

	if (proctree_signal(root, NULL, 0) > 0) {
		kill(root, SIGSTOP);
		(void)term_below(&w, root, NULL, end_ms);
	}
	kill(root, SIGTERM);
	kill(root, SIGCONT);
	while (!w.over && clock_left_ms(end_ms) > 0)
		pass_time(&w);
	proctree_kill(root, NULL);
}
