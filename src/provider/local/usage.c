/* usage.c: measures what the processes of a sandbox use. */
#include "provider/cgroup/cgroup.h"
#include "provider/link/load.h"
#include "provider/local/local.h"

/*
 * The kernel's count of a group is the host's own.  Without a group init is
 * asked, if the sandbox runs.
 */
int
local_usage(const struct provider *p, const struct agent_target *t,
    int64_t deadline_ms, struct usage *out, struct err *e)
{
	auto_box struct box b = BOX_CLOSED;
	struct cgroup_tree tree;

	*out = USAGE_UNKNOWN;
	if (box_open(p, t->sandbox, &b, e) < 0 ||
	    box_cgroups(p, &b, &tree, e) < 0)
		return -1;
	if (tree.count > 0)
		return cgroup_usage(&tree, b.name,
		    t->session[0] != '\0' ? t->session : NULL, out, e);
	if (local_may_run(p, &b, &out->running, e) < 0)
		return -1;
	return out->running ? agent_load(p, t, deadline_ms, out, e) : 0;
}
