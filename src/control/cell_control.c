/* cell_control.c: settles a wrapper that is not as its lease says. */
#include "control/cell_control.h"

#include "common/clock.h"
#include "common/fault.h"
#include "common/mem.h"
#include "provider/link/link.h"

enum { KILL_WAIT_MS = 5000 };

/*
 * The same proof of absence as for a stop: the generation is sealed, init lists
 * no wrapper, and the cgroup is empty.
 */
static int
is_gone(struct control *ctl, const struct agent_target *t, bool *gone,
    struct err *e)
{
	int64_t deadline_ms = clock_ms() + ctl->conf->discovery_seconds * 1000;
	struct agent_wrappers found;

	*gone = false;
	if (agent_seal(&ctl->provider, t, deadline_ms, &found, e) < 0)
		return -1;
	if (found.count > 0)
		return 0;
	return ctl->provider.ops->cell_gone(&ctl->provider, t->sandbox,
	    t->session, gone, e);
}

int
cell_control_gone(struct control *ctl, const struct agent_target *t, bool *gone,
    struct err *e)
{
	auto_rows struct rows *r = NULL;
	auto_free char *spec = NULL;

	bool absent;

	*gone = false;
	if (is_gone(ctl, t, &absent, e) < 0)
		return -1;
	if (!absent)
		return 0;
	CRASH_POINT("cell.absent");
	control_note_death(ctl, t->sandbox, t->session, t->generation);
	spec = control_spec_text(
	    json_pack("{s:s, s:s, s:I, s:b, s:s, s:s, s:s*}", "incarnation",
		t->incarnation, "instance", t->instance, "generation",
		(json_int_t)t->generation, "lost", 0, "reason", "wrapper_gone",
		"trace", ctl->trace, "actor", control_actor(ctl)));
	if (STORE_RUN(ctl->store, STMT_SESSION_SANDBOX_GONE, &r, e, t->session,
		spec) < 0)
		return -1;
	CRASH_POINT("cell.settled");
	*gone = rows_bool(r, 0, "done");
	if (*gone)
		agent_unlink_sockets(ctl->conf, t->session, t->generation);
	return 0;
}

int
cell_control_end(struct control *ctl, const struct agent_target *t,
    struct err *e)
{
	struct agent_wrappers found;
	bool gone;

	if (is_gone(ctl, t, &gone, e) < 0)
		return -1;
	if (gone)
		return 0;
	if (agent_kill(&ctl->provider, t, KILL_WAIT_MS,
		clock_ms() + 2 * KILL_WAIT_MS, &found, e) < 0 ||
	    is_gone(ctl, t, &gone, e) < 0)
		return -1;
	if (!gone)
		return err_set(e, ERR_UNAVAILABLE, CODE_STILL_THERE,
		    "the session's processes are still there");
	CRASH_POINT("cell.ended");
	agent_unlink_sockets(ctl->conf, t->session, t->generation);
	return 0;
}
