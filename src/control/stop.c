/* stop.c: verified clean-up. */
#include "control/stop.h"

#include "common/clock.h"
#include "common/fault.h"
#include "common/id.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "control/discover.h"
#include "control/sandbox_control.h"

enum { KILL_WAIT_MS = 5000 };

/* Cumulative 100, 500, 1000 ms after SIGTERM. */
static const int TERM_WAITS_MS[] = { 100, 400, 500 };

static const char *const WISHES[] = {
	[STOP_SLEEP] = "sleep",
	[STOP_DELETE] = "delete",
	[STOP_FAIL] = "fail",
};

int
stop_request(struct control *ctl, const char *session, enum stop_wish wish,
    const char *reason, const char *say, int64_t seen_activity, struct err *e)
{
	json_t *spec = json_pack("{s:s, s:s, s:s*, s:s*}", "reason", reason,
	    "trace", ctl->trace, "actor", control_actor(ctl), "say", say);
	auto_free char *text = NULL;

	if (seen_activity >= 0)
		json_object_set_new(spec, "seenActivity",
		    json_integer(seen_activity));
	text = control_spec_text(spec);
	return STORE_RUN(ctl->store, STMT_SESSION_REQUEST_STOP, NULL, e,
	    session, WISHES[wish], text);
}

int
stop_failed_start(struct control *ctl, const char *session, int64_t generation,
    const char *say, struct err *e)
{
	return stop_failed_launch(ctl, session, generation, say, NULL, e);
}

int
stop_failed_launch(struct control *ctl, const char *session, int64_t generation,
    const char *say, json_t *steps, struct err *e)
{
	auto_free char *spec =
	    control_spec_text(json_pack("{s:s, s:s, s:s*, s:s, s:I, s:o*}",
		"reason", "startup-failed", "trace", ctl->trace, "actor",
		control_actor(ctl), "say", say, "generation",
		(json_int_t)generation, "steps", steps));

	if (STORE_RUN(ctl->store, STMT_SESSION_REQUEST_STOP, NULL, e, session,
		WISHES[STOP_FAIL], spec) < 0)
		return -1;
	CRASH_POINT("fail.intent");
	return 0;
}

/* Both sources must agree: init has reaped the cell, its cgroup is empty. */
static int
check_cell(struct control *ctl, const struct agent_target *t,
    const struct agent_sight *sight, bool *absent, struct err *e)
{
	*absent = false;
	if (sight->count > 0)
		return 0;
	return ctl->provider.ops->cell_gone(&ctl->provider, t->sandbox,
	    t->session, absent, e);
}

static int
stop_in_sandbox(struct control *ctl, const struct agent_target *t, bool *absent,
    struct err *e)
{
	const struct provider *p = &ctl->provider;
	int64_t deadline = clock_ms() + ctl->conf->discovery_seconds * 1000;
	struct agent_sight sight;

	if (agent_seal(p, t, deadline, &sight, e) < 0)
		return -1;
	CRASH_POINT("stop.sealed");
	if (sight.count == 0)
		return check_cell(ctl, t, &sight, absent, e);
	if (agent_term(p, t, deadline, e) < 0)
		return -1;
	CRASH_POINT("stop.asked");
	for (size_t i = 0; sight.count > 0 && i < ARRAY_LEN(TERM_WAITS_MS); i++)
		if (agent_look(p, t, TERM_WAITS_MS[i], deadline, &sight, e) < 0)
			return -1;
	if (sight.count > 0 &&
	    agent_kill(p, t, KILL_WAIT_MS, clock_ms() + 2 * KILL_WAIT_MS,
		&sight, e) < 0)
		return -1;
	CRASH_POINT("stop.killed");
	return check_cell(ctl, t, &sight, absent, e);
}

/*
 * No init answers.  If nothing runs, the incarnation is ended where effects
 * happen, so that a worker that was stopped in mid-start cannot start it
 * after this absence was recorded.
 */
static int
stop_without_init(struct control *ctl, const struct session_row *s,
    bool *absent, struct err *e)
{
	size_t siblings;

	/* a start that was killed half way: nothing in it was ever promised */
	if (!discover_sandbox_down(ctl, s, e) &&
	    !discover_never_answered(ctl, s))
		return -1;
	CRASH_POINT("stop.down");
	if (discover_row_runs(s) &&
	    sandbox_control_gone(ctl, s->sandbox.id, s->sandbox.incarnation,
		&siblings, e) < 0)
		return -1;
	*absent = true;
	return 0;
}

static int
clean_up(struct control *ctl, const struct session_row *s, bool *absent,
    struct err *e)
{
	const struct agent_target t = control_target(s);
	int rc = -1;

	*absent = false;
	if (control_lock(ctl, s->sandbox.id, e) < 0)
		return -1;
	CRASH_POINT("stop.locked");
	if (str_equal(s->host, ctl->conf->host_name) &&
	    str_equal(s->boot_id, ctl->provider.boot_id))
		rc = stop_in_sandbox(ctl, &t, absent, e);
	if (rc < 0)
		rc = stop_without_init(ctl, s, absent, e);
	control_unlock(ctl, s->sandbox.id);
	if (rc == 0 && *absent)
		agent_unlink_sockets(ctl->conf, s->id, s->generation);
	return rc;
}

/* A sandbox of one session has no use while that session sleeps. */
static void
stop_own_sandbox(struct control *ctl, const struct session_row *s)
{
	struct err e = { 0 };
	bool done;

	if (!sandbox_id_is_isolated(s->sandbox.id))
		return;
	if (sandbox_control_retire(ctl, s->sandbox.id, s->sandbox.incarnation,
		false, &done, &e) < 0)
		log_err(LOG_WARN, "sandbox_stop", &e); /* the reaper goes on */
}

int
stop_attempt(struct control *ctl, const char *session, struct err *e)
{
	auto_rows struct rows *claimed = NULL, *ended = NULL;
	auto_free char *begin = NULL, *end = NULL;
	char attempt[ID_INSTANCE_LEN + 1];
	struct session_row s;
	struct err why = { 0 };
	bool absent = false;

	id_random(attempt, ID_INSTANCE_LEN);
	begin = control_spec_text(json_pack("{s:s, s:I, s:s, s:s*}", "attempt",
	    attempt, "seconds", (json_int_t)ctl->conf->stop_watchdog_seconds,
	    "trace", ctl->trace, "actor", control_actor(ctl)));
	if (STORE_RUN(ctl->store, STMT_SESSION_STOP_BEGIN, &claimed, e, session,
		begin) < 0)
		return -1;
	CRASH_POINT("stop.claimed");
	if (rows_count(claimed) == 0)
		return 0; /* not due, or somebody else's attempt */
	if (control_session(ctl, session, "", &s, e) < 0)
		return -1; /* a lease without metadata: kept, never erased */
	if (clean_up(ctl, &s, &absent, &why) == 0 && !absent)
		err_set(&why, ERR_UNAVAILABLE, "still_there",
		    "the session's processes are still there");
	CRASH_POINT("stop.looked");
	end = control_spec_text(json_pack("{s:s, s:b, s:s, s:s, s:s*}",
	    "attempt", attempt, "absent", absent, "error", why.msg, "trace",
	    ctl->trace, "actor", control_actor(ctl)));
	if (STORE_RUN(ctl->store, STMT_SESSION_STOP_END, &ended, e, session,
		end) < 0)
		return -1;
	CRASH_POINT("stop.ended");
	if (!absent)
		log_err(LOG_WARN, "stop_not_confirmed", &why);
	else if (!str_equal(rows_text(ended, 0, "state"), "deleting"))
		stop_own_sandbox(ctl, &s);
	return 0;
}

static int
drop_storage(struct control *ctl, const struct session_row *s, bool *done,
    struct err *e)
{
	if (sandbox_id_is_isolated(s->sandbox.id))
		return sandbox_control_end(ctl, s->sandbox.id,
		    s->sandbox.incarnation, true, done, e);
	*done = true;
	return ctl->provider.ops->storage_drop(&ctl->provider, s->sandbox.id,
	    s->id, e);
}

int
stop_finish_delete(struct control *ctl, const char *session, bool *done,
    struct err *e)
{
	auto_rows struct rows *r = NULL;
	auto_free char *spec = control_spec_text(json_pack("{s:s, s:s*}",
	    "trace", ctl->trace, "actor", control_actor(ctl)));
	struct session_row s;
	int rc;

	*done = false;
	if (control_session(ctl, session, "", &s, e) < 0)
		return -1;
	if (!str_equal(s.state, "deleting") || !str_equal(s.lease, "none"))
		return 0;
	if (s.host[0] != '\0' && !str_equal(s.host, ctl->conf->host_name))
		return err_set(e, ERR_UNAVAILABLE, "other_host",
		    "the sandbox belongs to host %s", s.host);
	if (control_lock(ctl, s.sandbox.id, e) < 0)
		return -1;
	CRASH_POINT("delete.locked");
	rc = drop_storage(ctl, &s, done, e);
	CRASH_POINT("delete.dropped");
	control_unlock(ctl, s.sandbox.id);
	if (rc < 0 || !*done)
		return rc;
	agent_unlink_sockets(ctl->conf, s.id, s.generation);
	CRASH_POINT("delete.cleared");
	if (STORE_RUN(ctl->store, STMT_SESSION_SET_DELETED, &r, e, session,
		spec) < 0)
		return -1;
	CRASH_POINT("delete.ended");
	*done = rows_bool(r, 0, "done");
	return 0;
}
