/* suspend.c: freezing a session's cell, through the sandbox's init. */
#include <unistd.h>

#include "common/channel.h"
#include "common/clock.h"
#include "common/mem.h"
#include "provider/cgroup/cgroup.h"
#include "provider/host/proc.h"
#include "provider/link/link.h"
#include "provider/local/local.h"

/*
 * init writes, because it is the one who refuses what comes too late; the
 * kernel's word, read from here, is the proof.
 */
int
local_suspend(const struct provider *p, const struct agent_target *t,
    int64_t order, int64_t deadline_ms, struct err *e)
{
	auto_box struct box b = BOX_CLOSED;
	auto_fd int fd = -1;
	struct cgroup_tree tree;
	bool frozen = false;

	if (box_open(p, t->sandbox, &b, e) < 0 ||
	    box_cgroups(p, &b, &tree, e) < 0)
		return -1;
	fd = cgroup_cell_freezer(&tree, b.name, t->session, e);
	if (fd < 0)
		return -1;
	if (agent_freeze(p, t, order, fd, tree.ops->frozen, tree.ops->thawed,
		deadline_ms, e) < 0)
		return -1;
	/* or it would be let go with those who waited for room on the disk */
	local_forget_frozen(p, t->session);
	for (;;) {
		if (cgroup_cell_frozen(&tree, b.name, t->session, &frozen, e) <
		    0)
			return -1;
		if (frozen)
			return 0;
		if (clock_left_ms(deadline_ms) == 0)
			return err_set(e, ERR_UNAVAILABLE, CODE_NOT_FROZEN,
			    "the session's processes did not come to a halt");
		proc_nap(deadline_ms);
	}
}

int
local_resume(const struct provider *p, const struct agent_target *t,
    int64_t order, int64_t deadline_ms, struct err *e)
{
	return agent_thaw(p, t, order, deadline_ms, e);
}

/*
 * Where nobody listens init is dead, and what it left frozen cannot die of that
 * until it is let go; any other failure to reach it says nothing.
 */
void
local_release_orphans(const struct provider *p, const struct box *b,
    const char *incarnation)
{
	struct cgroup_tree tree;
	struct err e; /* the next look tries again */
	auto_free char *path = NULL;
	auto_fd int init = -1;

	path = local_control_path(p, b->name, incarnation);
	init = channel_connect(path, &e);
	if (init < 0 && e.code == CODE_NOT_LISTENING &&
	    box_cgroups(p, b, &tree, &e) == 0)
		(void)!cgroup_thaw_cells(&tree, b->name, &e);
}
