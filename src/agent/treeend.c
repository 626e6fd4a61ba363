/* treeend.c: ending trees of processes with grace. */
#include "agent/treeend.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"

static void
begin(struct treeend *t)
{
	t->told = (struct proctree){ 0 };
	t->next = 0;
	t->watch = -1;
	t->last = t->over = false;
	kill(t->root, SIGSTOP);
}

/* Nothing is below the root, and it stands still: it hears SIGTERM first. */
static void
tell_root(struct treeend *t)
{
	kill(t->root, SIGTERM);
	kill(t->root, SIGCONT);
	t->last = true;
}

/*
 * Tells those who have not been told.  Nobody is told twice: to many programs
 * that means to leave everything as it lies.
 */
static void
look(struct treeend *t)
{
	struct proctree now;

	proctree_take(t->root, &now);
	if (now.count > 0) {
		proctree_signal(t->root, &t->told, SIGTERM);
		proctree_signal(t->root, NULL, SIGCONT);
	} else {
		tell_root(t);
	}
	proctree_free(&t->told);
	t->told = now;
	t->next = 0;
}

/* Until there is somebody to wait for, or no descriptor to do it with. */
static void
advance(struct treeend *t)
{
	bool can = true;

	while (can && !t->last && t->watch < 0) {
		if (t->next == t->told.count) {
			look(t);
			continue;
		}
		t->watch = (int)syscall(SYS_pidfd_open,
		    t->told.procs[t->next++].pid, 0);
		can = t->watch >= 0 || errno == ESRCH;
	}
}

static void
ended(struct treeend *t)
{
	if (t->last)
		t->over = true;
	else
		close(take_fd(&t->watch));
}

/* Waits for the end of at least one.  False when the time is over. */
static bool
wait_some(struct treeend *trees, size_t count, struct pollfd *f,
    int64_t deadline_ms)
{
	for (size_t i = 0; i < count; i++) {
		const struct treeend *t = &trees[i];
		int fd = t->last ? t->pidfd : t->watch;

		f[i] = (struct pollfd){ t->over ? -1 : fd, POLLIN, 0 };
	}
	if (poll(f, count, clock_left_ms(deadline_ms)) == 0)
		return false;
	for (size_t i = 0; i < count; i++)
		if (f[i].revents != 0)
			ended(&trees[i]);
	return true;
}

static bool
all_over(const struct treeend *trees, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!trees[i].over)
			return false;
	return true;
}

static void
finish(struct treeend *t)
{
	struct pollfd f = { t->pidfd, POLLIN, 0 };

	if (!t->over) {
		proctree_kill(t->root, NULL);
		(void)poll(&f, 1, TREEEND_GRACE_MS);
	}
	mem_close_fd(&t->watch);
	proctree_free(&t->told);
}

void
treeend_all(struct treeend *trees, size_t count)
{
	auto_free struct pollfd *f = xcalloc(count, sizeof(*f));
	int64_t end = clock_ms() + TREEEND_GRACE_MS;

	for (size_t i = 0; i < count; i++)
		begin(&trees[i]);
	do {
		for (size_t i = 0; i < count; i++)
			advance(&trees[i]);
	} while (!all_over(trees, count) && wait_some(trees, count, f, end));
	for (size_t i = 0; i < count; i++)
		finish(&trees[i]);
}
