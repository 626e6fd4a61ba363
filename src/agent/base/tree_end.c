/* tree_end.c: ending trees of processes with grace. */
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

/* An interactive shell ignores SIGTERM; what ends it is that it is left. */
static void
send_term(const struct tree_end *t, pid_t pid)
{
	bool deaf = t->hang_up && sigstate_ignores(pid, SIGTERM);

	kill(pid, deaf ? SIGHUP : SIGTERM);
	kill(pid, SIGCONT);
}

/*
 * Tells those who have not been told.  Nobody is told twice: to many programs
 * that means to leave everything as it lies.
 */
static void
tell_new(struct tree_end *t, struct proctree now)
{
	for (size_t i = 0; i < now.count; i++)
		if (!proctree_holds(&t->told, &now.procs[i]))
			send_term(t, now.procs[i].pid);
	/* nothing is below the root, which stands still: SIGTERM comes first */
	if (now.count == 0) {
		send_term(t, t->root);
		t->last = true;
	}
	proctree_free(&t->told);
	t->told = now;
	t->next = 0;
}

/* Somebody of the known ones to wait for.  False when all have ended. */
static bool
watch_next(struct tree_end *t)
{
	while (!t->last && t->watch < 0 && t->next < t->told.count) {
		t->watch = (int)syscall(SYS_pidfd_open,
		    t->told.procs[t->next++].pid, 0);
		if (t->watch < 0 && errno != ESRCH)
			return true; /* its time will be over */
	}
	return t->last || t->watch >= 0;
}

/* One look for all whose known ones have ended.  False when there are none. */
static bool
look_at_trees(struct tree_end *trees, size_t count)
{
	auto_free pid_t *roots = xcalloc(count, sizeof(*roots));
	auto_free struct proctree *now = xcalloc(count, sizeof(*now));
	auto_free size_t *who = xcalloc(count, sizeof(*who));
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		if (!watch_next(&trees[i])) {
			who[n] = i;
			roots[n++] = trees[i].root;
		}
	if (n == 0)
		return false;
	proctree_take_each(roots, n, now);
	for (size_t i = 0; i < n; i++)
		tell_new(&trees[who[i]], now[i]);
	return true;
}

/* Waits for the end of at least one.  False when the time is over. */
static bool
wait_some(struct tree_end *trees, size_t count, struct pollfd *f,
    int64_t deadline_ms)
{
	for (size_t i = 0; i < count; i++) {
		const struct tree_end *t = &trees[i];
		int fd = t->last ? t->pidfd : t->watch;

		f[i] = (struct pollfd){ t->over ? -1 : fd, POLLIN, 0 };
	}
	/* one that forks faster than we look is always ready */
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
	int64_t end = clock_ms() + TREEEND_GRACE_MS;

	for (size_t i = 0; i < count; i++) {
		struct tree_end *t = &trees[i];

		t->told = (struct proctree){ 0 };
		t->next = 0;
		t->watch = -1;
		t->last = t->over = false;
		kill(t->root, SIGSTOP);
	}
	do {
		while (clock_left_ms(end) > 0 && look_at_trees(trees, count))
			;
	} while (!all_over(trees, count) && wait_some(trees, count, f, end));
	for (size_t i = 0; i < count; i++) {
		struct tree_end *t = &trees[i];
		struct pollfd root = { t->pidfd, POLLIN, 0 };

		if (!t->over) {
			proctree_kill(t->root, NULL);
			(void)poll(&root, 1, TREEEND_GRACE_MS);
		}
		mem_close_fd(&t->watch);
		proctree_free(&t->told);
	}
}
