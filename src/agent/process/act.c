/* act.c: what is done to a background process that lives. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/base/proctree.h"
#include "agent/base/sigstate.h"
#include "agent/base/treeend.h"
#include "agent/process/internal.h"
#include "agent/process/process.h"
#include "common/mem.h"

enum { END_MS = 4 * TREEEND_GRACE_MS, SETTLE_MS = 1000 };

/* ---- waiting */

static bool
wait_change(int64_t deadline_ms)
{
	struct timespec at = { .tv_sec = deadline_ms / 1000,
		.tv_nsec = deadline_ms % 1000 * 1000000 };

	return pthread_cond_clockwait(&process_changed, &process_lock,
		   CLOCK_MONOTONIC, &at) == 0;
}

void
process_settle(void)
{
	int64_t end = clock_ms() + SETTLE_MS;

	pthread_mutex_lock(&process_lock);
	while (process_living() > 0 && wait_change(end))
		;
	pthread_mutex_unlock(&process_lock);
}

/* ---- ending */

/* Pins it, unless somebody ends it already. */
static bool
claim(struct process *p)
{
	struct err ignored;
	bool taken;

	if (process_pin(p, &ignored) < 0)
		return false;
	pthread_mutex_lock(&process_lock);
	taken = p->ending;
	p->ending = true;
	pthread_mutex_unlock(&process_lock);
	if (taken)
		process_unpin(p);
	return !taken;
}

/* Until none of them lives, whoever ended it. */
static bool
wait_ends(struct process **all, size_t count)
{
	int64_t end = clock_ms() + END_MS;
	bool more = true;

	pthread_mutex_lock(&process_lock);
	for (size_t i = 0; i < count; i++)
		while (more && all[i]->rec.end.status == PROCESS_RUNNING)
			more = wait_change(end);
	pthread_mutex_unlock(&process_lock);
	return more;
}

static bool
end_all(struct process **all, size_t count)
{
	auto_free struct process **mine = xcalloc(count, sizeof(*mine));
	auto_free struct treeend *trees = xcalloc(count, sizeof(*trees));
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		if (!claim(all[i]))
			continue;
		mine[n] = all[i];
		trees[n++] = (struct treeend){ .root = all[i]->child.pid,
			.pidfd = all[i]->child.pidfd };
	}
	treeend_all(trees, n);
	for (size_t i = 0; i < n; i++)
		process_unpin(mine[i]);
	return wait_ends(all, count);
}

void *
process_end_thread(void *process)
{
	struct process *p = process;

	(void)end_all(&p, 1);
	process_release(p);
	return NULL;
}

int
process_kill(struct process *p, struct err *e)
{
	if (process_now(p).status != PROCESS_RUNNING)
		return process_not_running(p, e);
	if (!end_all(&p, 1))
		return err_set(e, ERR_INTERNAL, CODE_PROCESS_ERROR,
		    "Process '%s' could not be killed", p->rec.id);
	return 0;
}

size_t
process_kill_all(const char *shell)
{
	size_t count, n = 0;
	auto_free struct process **all = process_all(&count);

	for (size_t i = 0; i < count; i++) {
		struct process *p = all[i];

		if (process_now(p).status == PROCESS_RUNNING &&
		    (shell == NULL || str_equal(p->rec.shell, shell)))
			all[n++] = p;
		else
			process_release(p);
	}
	(void)end_all(all, n);
	for (size_t i = 0; i < n; i++)
		process_release(all[i]);
	return n;
}

/* ---- signals */

int
process_signal(struct process *p, int sig, struct err *e)
{
	pid_t root;

	if (process_pin(p, e) < 0)
		return -1;
	root = p->child.pid;
	if (sig == SIGKILL)
		proctree_kill(root, NULL);
	else if (proctree_signal(root, NULL, sig) == 0 || sig == SIGSTOP ||
	    sig == SIGCONT || sigstate_catches(root, sig))
		kill(root, sig);
	process_unpin(p);
	return 0;
}
