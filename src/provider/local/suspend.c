/*
 * suspend.c: freezes and thaws a session's cell through the sandbox's init, and
 * thaws cells that a dead init has left frozen.
 */
#include <unistd.h>

#include "common/channel.h"
#include "common/clock.h"
#include "common/mem.h"
#include "provider/cgroup/cgroup.h"
#include "provider/host/proc.h"
#include "provider/link/link.h"
#include "provider/local/local.h"

/*
 * init writes to the freezer, because init refuses stale orders.  Then the host
 * asks the kernel whether the cell is frozen, because init's answer is no
 * proof.
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
	/* else it would thaw with the cells that a full disk has frozen */
	local_forget_frozen(p, t->session);
	for (;;) {
		if (cgroup_cell_frozen(&tree, b.name, t->session, &frozen, e) <
		    0)
			return -1;
		if (frozen)
			return 0;
		if (clock_left_ms(deadline_ms) == 0)
			return err_set(e, ERR_UNAVAILABLE, CODE_NOT_FROZEN,
			    "the session's processes did not freeze in time");
		proc_nap(deadline_ms);
	}
}

int
local_resume(const struct provider *p, const struct agent_target *t,
    int64_t order, int64_t deadline_ms, struct err *e)
{
	return agent_thaw(p, t, order, deadline_ms, e);
}

int
local_thaw_orphans(const struct provider *p, const char *id, struct err *e)
{
	auto_box struct box b = BOX_CLOSED;
	auto_free char *path = NULL;
	auto_fd int init = -1;
	char raw[SANDBOX_ID_MAX];
	struct cgroup_tree tree;
	struct record r;
	struct err why;
	bool ours = true;

	if (box_open(p, id, &b, e) < 0 ||
	    (b.dir >= 0 && box_label(p, &b, &ours, raw, e) < 0) ||
	    box_record(&b, &r, e) < 0)
		return -1;
	if (!ours)
		return 0;
	path = local_control_path(p, b.name, r.incarnation);
	init = channel_connect(path, &why);
	/* only a socket without a listener proves that init is dead */
	if (init >= 0 || why.code != CODE_NOT_LISTENING)
		return 0;
	return box_cgroups(p, &b, &tree, e) < 0
	    ? -1
	    : cgroup_thaw_cells(&tree, b.name, e);
}
