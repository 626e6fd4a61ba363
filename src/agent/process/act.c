/* act.c: kills and signals running background processes. */
#include <signal.h>

#include "agent/base/proctree.h"
#include "agent/base/sigstate.h"
#include "agent/process/internal.h"
#include "agent/process/process.h"
#include "common/mem.h"

enum { SETTLE_MS = 1000 };

void
process_settle(void)
{
	int64_t end = clock_ms() + SETTLE_MS;

	child_lock(&process_table);
	while (
	    child_living(&process_table) > 0 && child_wait(&process_table, end))
		;
	child_unlock(&process_table);
}

/* ---- ending */

int
process_kill(struct process *p, struct err *e)
{
	struct child_entry *c = &p->entry;

	if (!child_lives(c))
		return process_not_running(p, e);
	if (!child_end_all(&c, 1))
		return err_set(e, ERR_INTERNAL, CODE_PROCESS_ERROR,
		    "Process '%s' could not be killed", p->rec.id);
	return 0;
}

size_t
process_kill_all(const char *shell)
{
	size_t count, n = 0;
	auto_free struct child_entry **all = child_all(&process_table, &count);

	for (size_t i = 0; i < count; i++) {
		struct child_entry *c = all[i];

		if (child_lives(c) &&
		    (shell == NULL ||
			str_equal(process_of(c)->rec.shell, shell)))
			all[n++] = c;
		else
			child_release(c);
	}
	(void)child_end_all(all, n);
	for (size_t i = 0; i < n; i++)
		child_release(all[i]);
	return n;
}

/* ---- signals */

int
process_signal(struct process *p, int sig, struct err *e)
{
	pid_t root;

	if (!child_pin(&p->entry))
		return process_not_running(p, e);
	root = p->entry.child.pid;
	if (sig == SIGKILL)
		proctree_kill(root, NULL);
	else if (proctree_signal(root, NULL, sig) == 0 || sig == SIGSTOP ||
	    sig == SIGCONT || sigstate_catches(root, sig))
		kill(root, sig);
	child_unpin(&p->entry);
	return 0;
}
