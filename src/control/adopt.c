/* adopt.c: gives a session the wrapper of the warm pool that its create claimed. */
#include "control/adopt.h"

#include "common/fault.h"
#include "common/log.h"
#include "control/start_error.h"
#include "provider/link/link.h"

enum { GONE_MS = 2000 };

bool
adopt_is_due(const struct launch *l)
{
	return l->adoption[0] != '\0' && l->first;
}

/* Whether the session has other limits than its class, which the member has. */
static bool
is_limited(const struct launch *l)
{
	return l->cell.memory_mb != l->sandbox.memory_mb ||
	    l->cell.disk_mb != l->sandbox.disk_mb ||
	    l->cell.pids != l->sandbox.pids;
}

/* Limits, files, network and setup come before the proof. */
static bool
is_proved_at_once(const struct launch *l)
{
	return json_array_size(l->files) == 0 && l->setup == NULL &&
	    !l->network && !is_limited(l);
}

/*
 * Ends a member that cannot have the session's limits: the wrapper that takes
 * its place is launched with them.  Always -1.
 */
static int
end_unlimited(struct control *ctl, const struct launch *l, int64_t deadline_ms,
    struct err *e)
{
	struct agent_wrappers left;
	struct err ignored = { 0 };

	if (start_undecided(e))
		return -1; /* the process that goes on with the start tries again */
	log_err(LOG_WARN, "limits", e);
	if (agent_kill(&ctl->provider, &l->target, GONE_MS, deadline_ms, &left,
		&ignored) < 0)
		log_err(LOG_WARN, "limits", &ignored);
	return err_set(e, ERR_UNAVAILABLE, CODE_NOT_LISTENING,
	    "the wrapper of the warm pool could not have the session's limits");
}

int
adopt_wrapper(struct control *ctl, struct launch *l, int64_t deadline_ms,
    struct err *e)
{
	const struct agent_adoption a = { .claim = l->adoption,
		.prove = is_proved_at_once(l) };

	if (agent_adopt(&ctl->provider, &l->target, &l->agent, &a, deadline_ms,
		e) < 0) {
		/* dead, unnoticed: the next generation takes its place */
		if (CODE_IS_ONE_OF(e->code, CODE_WRAPPER_UNAVAILABLE,
			CODE_NOT_SERVING))
			e->code = CODE_NOT_LISTENING;
		return -1;
	}
	CRASH_POINT("launch.adopted");
	l->proved = a.prove;
	if (!is_limited(l))
		return 0;
	/* after the adoption: before it, the sandbox might be another tenant's */
	if (agent_limit(&ctl->provider, &l->cell, &l->target, deadline_ms, e) <
	    0)
		return end_unlimited(ctl, l, deadline_ms, e);
	CRASH_POINT("launch.limited");
	return 0;
}
