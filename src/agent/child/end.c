/* end.c: ends children with all their descendants. */
#include "agent/base/tree_end.h"
#include "agent/child/child.h"
#include "common/clock.h"
#include "common/mem.h"

enum { END_MS = 4 * TREE_END_GRACE_MS };

/* Pins c, unless c has ended or another thread is ending it. */
static bool
pin_to_end(struct child_entry *c)
{
	bool mine;

	child_lock(c->table);
	mine = !c->ended && !c->reaping && !c->ending;
	if (mine) {
		c->ending = true;
		c->pins++;
	}
	child_unlock(c->table);
	return mine;
}

static bool
wait_end(struct child_entry *c, int64_t deadline_ms)
{
	bool more = true;

	child_lock(c->table);
	while (more && !c->ended)
		more = child_wait(c->table, deadline_ms);
	child_unlock(c->table);
	return more;
}

bool
child_end_all(struct child_entry **all, size_t count)
{
	auto_free struct child_entry **mine = xcalloc(count, sizeof(*mine));
	auto_free struct tree_end *trees = xcalloc(count, sizeof(*trees));
	int64_t end;
	size_t n = 0;
	bool more = true;

	for (size_t i = 0; i < count; i++) {
		if (!pin_to_end(all[i]))
			continue;
		mine[n] = all[i];
		trees[n++] = (struct tree_end){ .root = all[i]->child.pid,
			.pidfd = all[i]->child.pidfd,
			.hang_up = all[i]->table->hang_up };
	}
	tree_end_all(trees, n);
	for (size_t i = 0; i < n; i++)
		child_unpin(mine[i]);
	end = clock_ms() + END_MS;
	for (size_t i = 0; more && i < count; i++)
		more = wait_end(all[i], end);
	return more;
}
