/* procload.c: measures a process and all its descendants. */
#include "agent/base/procload.h"

#include <stdlib.h>

#include "agent/base/procmem.h"
#include "agent/base/proctree.h"
#include "common/mem.h"

struct procload_one {
	struct proc_id id;
	int64_t us;
};

static int64_t
whole_cpu_us(pid_t pid)
{
	struct proc_cpu c = proctree_cpu(pid);

	return c.own_us + c.children_us;
}

struct procload
procload_below(pid_t root)
{
	struct procload sum = { .memory_bytes = procmem_own(root),
		.cpu_us = whole_cpu_us(root) };
	auto_tree struct proctree tree = { 0 };

	proctree_take(root, &tree);
	for (size_t i = 0; i < tree.count; i++) {
		sum.memory_bytes += procmem_own(tree.procs[i].pid);
		sum.cpu_us += whole_cpu_us(tree.procs[i].pid);
	}
	sum.processes = (int64_t)tree.count + 1;
	return sum;
}

static int64_t
last_us(const struct procload_seen *s, const struct proc_id *id)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->now[i].id.pid == id->pid &&
		    s->now[i].id.start == id->start)
			return s->now[i].us;
	return 0;
}

/* Adds the time of processes of the last look that are not in `t`. */
static void
add_gone(struct procload_seen *s, const struct proctree *t)
{
	for (size_t i = 0; i < s->count; i++)
		if (!proctree_holds(t, &s->now[i].id))
			s->gone_us += s->now[i].us;
}

int64_t
procload_seen_us(struct procload_seen *s, pid_t root)
{
	auto_tree struct proctree tree = { 0 };
	int64_t sum = proctree_cpu(root).own_us;
	struct procload_one *now;

	proctree_take(root, &tree);
	add_gone(s, &tree);
	now = xcalloc(tree.count + 1, sizeof(*now));
	for (size_t i = 0; i < tree.count; i++) {
		const struct proc_id *id = &tree.procs[i];
		int64_t before = last_us(s, id);
		int64_t us = proctree_cpu(id->pid).own_us;

		/* less: the process ended after the walk */
		now[i] =
		    (struct procload_one){ *id, us > before ? us : before };
		sum += now[i].us;
	}
	free(s->now);
	s->now = now;
	s->count = tree.count;
	return s->gone_us + sum;
}

void
procload_seen_free(struct procload_seen *s)
{
	free(s->now);
	*s = (struct procload_seen){ 0 };
}
