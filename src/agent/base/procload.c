/* procload.c: measures a process and all its descendants. */
#include "agent/base/procload.h"

#include "agent/base/procmem.h"
#include "agent/base/proctree.h"

struct procload
procload_below(pid_t root)
{
	struct procload sum = { .memory_bytes = procmem_own(root),
		.cpu_us = proctree_cpu_us(root) };
	auto_tree struct proctree tree = { 0 };

	proctree_take(root, &tree);
	for (size_t i = 0; i < tree.count; i++) {
		sum.memory_bytes += procmem_own(tree.procs[i].pid);
		sum.cpu_us += proctree_cpu_us(tree.procs[i].pid);
	}
	sum.processes = (int64_t)tree.count + 1;
	return sum;
}
