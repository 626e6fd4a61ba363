/* discover.c: finds out what exists of a session. */
#include "control/discover.h"

#include "common/clock.h"
#include "common/str.h"
#include "provider/link/link.h"

bool
discover_row_runs(const struct session_row *s)
{
	return s->sandbox.incarnation[0] != '\0' &&
	    (s->sandbox_state == SANDBOX_CREATING ||
		s->sandbox_state == SANDBOX_RUNNING);
}

bool
discover_sandbox_down(struct control *ctl, const struct session_row *s,
    struct err *e)
{
	struct sandbox_seen seen;
	struct err ignored;

	if (s->sandbox.incarnation[0] == '\0' ||
	    s->sandbox_state == SANDBOX_ABSENT ||
	    s->sandbox_state == SANDBOX_STOPPED)
		return true; /* never started, or its end was observed */
	if (control_must_be_here(ctl, s, e) < 0)
		return false;
	if (!str_equal(s->boot_id, ctl->provider.boot_id))
		return true; /* no process outlives a reboot */
	if (ctl->provider.ops->inspect(&ctl->provider, s->sandbox.id, &seen,
		e) < 0)
		return false;
	if (seen.presence == PRESENCE_STOPPED ||
	    seen.presence == PRESENCE_ABSENT)
		return true;
	/*
	 * If its init is dead, frozen cells keep the sandbox from ending.  A
	 * failure to thaw them is ignored: the next discovery tries again.
	 */
	if (seen.presence == PRESENCE_RUNNING)
		(void)!ctl->provider.ops->thaw_orphans(&ctl->provider,
		    s->sandbox.id, &ignored);
	err_set(e, ERR_UNAVAILABLE, CODE_SANDBOX_SILENT,
	    "the sandbox is there but its agent does not answer");
	return false;
}

bool
discover_never_answered(struct control *ctl, const struct session_row *s)
{
	struct sandbox_seen seen;
	struct err ignored = { 0 };

	return str_equal(s->host, ctl->conf->host_name) &&
	    ctl->provider.ops->inspect(&ctl->provider, s->sandbox.id, &seen,
		&ignored) == 0 &&
	    seen.presence == PRESENCE_RUNNING && seen.unanswered &&
	    str_equal(seen.incarnation, s->sandbox.incarnation);
}

enum look_result
discover(struct control *ctl, const struct session_row *s, bool *down,
    struct err *e)
{
	const struct agent_target t = control_target(s);
	int64_t deadline = clock_ms() + ctl->conf->discovery_seconds * 1000;
	struct agent_wrappers found;

	*down = false;
	if (str_equal(s->host, ctl->conf->host_name) &&
	    str_equal(s->boot_id, ctl->provider.boot_id) &&
	    agent_look(&ctl->provider, &t, 0, deadline, &found, e) == 0) {
		if (found.count == 0)
			return LOOK_ABSENT;
		if (found.count == 1 &&
		    found.wrapper[0].generation == s->generation &&
		    str_equal(found.wrapper[0].instance, s->instance))
			return LOOK_OURS;
		return LOOK_OTHER;
	}
	*down = discover_sandbox_down(ctl, s, e);
	return *down ? LOOK_ABSENT : LOOK_UNKNOWN;
}

int
discover_seal(struct control *ctl, const struct session_row *s, bool *absent,
    struct err *e)
{
	const struct agent_target t = control_target(s);
	struct agent_wrappers found;

	if (agent_seal(&ctl->provider, &t,
		clock_ms() + ctl->conf->discovery_seconds * 1000, &found,
		e) < 0)
		return -1;
	*absent = found.count == 0;
	return 0;
}
