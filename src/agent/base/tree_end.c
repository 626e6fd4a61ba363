/* tree_end.c: ends process trees: SIGTERM, a grace period, SIGKILL. */
#include "agent/base/tree_end.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/base/sigstate.h"
#include "common/clock.h"
#include "common/mem.h"

/* An interactive shell ignores SIGTERM, and ends when it gets SIGHUP. */
static void
send_term(const struct tree_end *t, pid_t pid)
{
	bool deaf = t->hang_up && sigstate_ignores(pid, SIGTERM);

	kill(pid, deaf ? SIGHUP : SIGTERM);
	kill(pid, SIGCONT);
}

/*
 * Sends SIGTERM to the processes of `now` that have not had it.  No process
 * gets it twice: many programs end at the second SIGTERM without cleaning up.
 */
static void
signal_new(struct tree_end *t, struct proctree now)
{
	for (size_t i = 0; i < now.count; i++)
		if (!proctree_holds(&t->signalled, &now.procs[i]))
			send_term(t, now.procs[i].pid);
	/* only the root is left: stopped, so SIGTERM comes before SIGCONT */
	if (now.count == 0) {
		send_term(t, t->root);
		t->last = true;
	}
	proctree_free(&t->signalled);
	t->signalled = now;
	t->next = 0;
}

/* Chooses a signalled process to wait for.  False when all have ended. */
static bool
watch_next(struct tree_end *t)
{
	while (!t->last && t->watch < 0 && t->next < t->signalled.count) {
		t->watch = (int)syscall(SYS_pidfd_open,
		    t->signalled.procs[t->next++].pid, 0);
		if (t->watch < 0 && errno != ESRCH)
			return true; /* killed after the grace period */
	}
	return t->last || t->watch >= 0;
}

/*
 * Reads /proc once for all trees whose signalled processes have ended, and
 * sends SIGTERM to new ones.  False when there are no such trees.
 */
static bool
signal_trees(struct tree_end *trees, size_t count)
{
	auto_free pid_t *roots = xcalloc(count, sizeof(*roots));
	auto_free struct proctree *now = xcalloc(count, sizeof(*now));
	auto_free size_t *which = xcalloc(count, sizeof(*which));
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		if (!watch_next(&trees[i])) {
			which[n] = i;
			roots[n++] = trees[i].root;
		}
	if (n == 0)
		return false;
	proctree_take_each(roots, n, now);
	for (size_t i = 0; i < n; i++)
		signal_new(&trees[which[i]], now[i]);
	return true;
}

/* Waits for the end of at least one process.  False at the deadline. */
static bool
wait_some(struct tree_end *trees, size_t count, struct pollfd *f,
    int64_t deadline_ms)
{
	for (size_t i = 0; i < count; i++) {
		const struct tree_end *t = &trees[i];
		int fd = t->last ? t->pidfd : t->watch;

		f[i] = (struct pollfd){ t->over ? -1 : fd, POLLIN, 0 };
	}
	/* a tree that forks faster than /proc is read is always ready */
	if (clock_left_ms(deadline_ms) == 0 ||
	    poll(f, count, clock_left_ms(deadline_ms)) == 0)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (f[i].revents == 0)
			continue;
		if (trees[i].last)
			trees[i].over = true;
		else
			close(take_fd(&trees[i].watch));
	}
	return true;
}

static bool
all_over(const struct tree_end *trees, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!trees[i].over)
			return false;
	return true;
}

void
tree_end_all(struct tree_end *trees, size_t count)
{
	auto_free struct pollfd *f = xcalloc(count, sizeof(*f));
	int64_t end = clock_ms() + TREE_END_GRACE_MS;

	for (size_t i = 0; i < count; i++) {
		struct tree_end *t = &trees[i];

		t->signalled = (struct proctree){ 0 };
		t->next = 0;
		t->watch = -1;
		t->last = t->over = false;
		kill(t->root, SIGSTOP);
	}
	do {
		while (clock_left_ms(end) > 0 && signal_trees(trees, count))
			;
	} while (!all_over(trees, count) && wait_some(trees, count, f, end));
	for (size_t i = 0; i < count; i++) {
		struct tree_end *t = &trees[i];
		struct pollfd root = { t->pidfd, POLLIN, 0 };

		if (!t->over) {
			proctree_kill(t->root, NULL);
			(void)poll(&root, 1, TREE_END_GRACE_MS);
		}
		mem_close_fd(&t->watch);
		proctree_free(&t->signalled);
	}
}
