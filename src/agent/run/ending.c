/* ending.c: ends the processes of a command while its output is passed on. */
#include "agent/run/ending.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"

enum { GRACE_MS = 1000 };

struct ending {
	struct pump *pump;
	bool over; /* the command has ended: pump_run() would return at once */
	int64_t end_ms;
};

/* Pumps until the pidfd `fd` (-1: the pump's process) ends, or end_ms. */
static void
pump_until(struct ending *w, int fd)
{
	struct pollfd f = { fd, POLLIN, 0 };
	enum pump_end how;

	if (w->over) {
		(void)poll(&f, 1, clock_left_ms(w->end_ms));
		return;
	}
	w->pump->wake_fd = fd;
	w->pump->deadline_ms = w->end_ms;
	how = pump_run(w->pump);
	w->pump->wake_fd = -1;
	w->over = how == PUMP_TOLD || how == PUMP_EXITED;
}

/*
 * Sends SIGTERM to the processes of `now` that are not in `told`.  No process
 * gets it twice: many programs end at the second SIGTERM without cleaning up.
 */
static void
term_new(const struct proctree *now, const struct proctree *told)
{
	for (size_t i = 0; i < now->count; i++) {
		if (proctree_holds(told, &now->procs[i]))
			continue;
		kill(now->procs[i].pid, SIGTERM);
		kill(now->procs[i].pid, SIGCONT);
	}
}

/* False when processes are left after the grace period. */
static bool
term_below(struct ending *w, pid_t root, const struct proctree *spare)
{
	struct proctree told = { 0 }, now;

	do {
		proctree_below(root, spare, &now);
		term_new(&now, &told);
		proctree_free(&told);
		told = now;
		if (now.count > 0) {
			auto_fd int fd =
			    (int)syscall(SYS_pidfd_open, now.procs[0].pid, 0);

			if (fd >= 0) /* else the process has just ended */
				pump_until(w, fd);
		}
	} while (now.count > 0 && clock_left_ms(w->end_ms) > 0);
	proctree_free(&told);
	return now.count == 0;
}

void
ending_below(struct pump *p, pid_t root, const struct proctree *spare)
{
	struct ending w = { .pump = p, .end_ms = clock_ms() + GRACE_MS };

	if (!term_below(&w, root, spare))
		proctree_kill_below(root, spare);
}

void
ending_all(struct pump *p, pid_t root)
{
	struct ending w = { .pump = p, .end_ms = clock_ms() + GRACE_MS };

	proctree_stop(root);
	if (term_below(&w, root, NULL)) {
		kill(root, SIGTERM);
		kill(root, SIGCONT);
		while (!w.over && clock_left_ms(w.end_ms) > 0)
			pump_until(&w, -1);
	}
	proctree_kill(root, NULL);
}
