/* suspend.c: puts sessions to sleep with all memory, where the machine can. */
#include "control/suspend.h"

#include "common/clock.h"
#include "common/fault.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "control/relay_control.h"
#include "control/stop.h"
#include "provider/link/link.h"

enum { FREEZE_MS = 3000, PROVE_MS = 5000, UNFINISHED_S = 30 };

/* A newer order for the same cell, or a newer generation, came first. */
static bool
is_overtaken(const struct err *e)
{
	return e->code == CODE_STALE_ORDER || e->code == CODE_STALE_GENERATION;
}

static int
freeze(struct control *ctl, const struct session_row *s, int64_t order,
    struct err *e)
{
	const struct provider *p = &ctl->provider;
	const struct agent_target t = control_target(s);

	if (p->ops->suspend == NULL)
		return err_set(e, ERR_CONFLICT, CODE_CANNOT_SUSPEND,
		    "%s sandboxes cannot be suspended", p->ops->name);
	return p->ops->suspend(p, &t, order, clock_ms() + FREEZE_MS, e);
}

/*
 * Intent, act, outcome.  *stop: the session could not be frozen, and its stop
 * has been requested instead.
 */
static int
freeze_and_record(struct control *ctl, const struct session_row *s,
    const char *begin, const char *reason, bool *stop, struct err *e)
{
	auto_rows struct rows *begun = NULL, *ended = NULL;
	auto_free char *end = NULL;
	struct err why = { 0 };
	int64_t order;
	bool frozen;

	if (STORE_RUN(ctl->store, STMT_SESSION_SUSPEND_BEGIN, &begun, e, s->id,
		begin) < 0)
		return -1;
	if (rows_count(begun) == 0)
		return 0;
	order = rows_int(begun, 0, "suspend_order");
	CRASH_POINT("suspend.intent");
	frozen = freeze(ctl, s, order, &why) == 0;
	CRASH_POINT("suspend.frozen");
	if (!frozen)
		log_err(LOG_WARN, "suspend", &why);
	if (!frozen && is_overtaken(&why))
		return 0;
	end = control_spec_text(json_pack("{s:I, s:b, s:s, s:s, s:s*}", "order",
	    (json_int_t)order, "frozen", frozen, "reason", reason, "trace",
	    ctl->trace, "actor", control_actor(ctl)));
	if (STORE_RUN(ctl->store, STMT_SESSION_SUSPEND_END, &ended, e, s->id,
		end) < 0)
		return -1;
	CRASH_POINT("suspend.ended");
	*stop = state_session_parse(rows_text(ended, 0, "state")) ==
	    SESSION_SLEEPING;
	return 0;
}

static int
begin_and_freeze(struct control *ctl, const char *session, json_t *intent,
    const char *reason, struct err *e)
{
	auto_json json_t *spec = intent;
	auto_free char *begin = NULL;
	struct session_row s;
	bool stop = false;
	int rc;

	if (control_session(ctl, session, "", &s, e) < 0)
		return -1;
	/* overdue at once: the next pass on that host freezes it */
	if (!control_is_here(ctl, &s))
		json_object_set_new(spec, "seconds", json_integer(0));
	begin = json_text(spec);
	if (!control_is_here(ctl, &s))
		return STORE_RUN(ctl->store, STMT_SESSION_SUSPEND_BEGIN, NULL,
		    e, s.id, begin);
	if (control_lock(ctl, s.sandbox.id, e) < 0)
		return -1;
	rc = freeze_and_record(ctl, &s, begin, reason, &stop, e);
	control_unlock(ctl, s.sandbox.id);
	return rc == 0 && stop ? stop_attempt(ctl, session, e) : rc;
}

int
suspend_session(struct control *ctl, const char *session, const char *reason,
    int64_t seen_activity, struct err *e)
{
	json_t *intent =
	    json_pack("{s:s, s:i, s:s, s:s*}", "reason", reason, "seconds",
		UNFINISHED_S, "trace", ctl->trace, "actor", control_actor(ctl));

	if (seen_activity >= 0)
		json_object_set_new(intent, "seenActivity",
		    json_integer(seen_activity));
	return begin_and_freeze(ctl, session, intent, reason, e);
}

int
suspend_repair(struct control *ctl, const char *session, struct err *e)
{
	return begin_and_freeze(ctl, session,
	    json_pack("{s:b, s:i, s:s, s:s*}", "repair", 1, "seconds",
		UNFINISHED_S, "trace", ctl->trace, "actor", control_actor(ctl)),
	    "recovery", e);
}

/* ---- thaw */

static int
thaw(struct control *ctl, const struct session_row *s, int64_t order,
    struct err *e)
{
	const struct provider *p = &ctl->provider;
	const struct agent_target t = control_target(s);
	auto_rows struct rows *r = NULL;
	auto_free char *spec = NULL;
	/* less than the caller has: a cold start may have to follow */
	int64_t deadline_ms = clock_ms() + PROVE_MS;

	if (p->ops->resume == NULL)
		return err_set(e, ERR_INTERNAL, CODE_INTERNAL,
		    "%s cannot resume what is suspended", p->ops->name);
	if (p->ops->resume(p, &t, order, deadline_ms, e) < 0)
		return -1;
	CRASH_POINT("thaw.resumed");
	if (agent_prove(p, &t, deadline_ms, e) < 0)
		return -1;
	CRASH_POINT("thaw.proved");
	spec = control_spec_text(json_pack("{s:s, s:I, s:I, s:s, s:s*}",
	    "instance", s->instance, "generation", (json_int_t)s->generation,
	    "order", (json_int_t)order, "trace", ctl->trace, "actor",
	    control_actor(ctl)));
	if (STORE_RUN(ctl->store, STMT_SESSION_THAWED, &r, e, s->id, spec) < 0)
		return -1;
	CRASH_POINT("thaw.ended");
	if (!rows_bool(r, 0, "applied"))
		return err_set(e, ERR_BUSY, CODE_LEASE_CHANGED,
		    "the session was stopped while it was resumed");
	if (rows_bool(r, 0, "has_ports"))
		relay_settle_session(ctl, s->id, false);
	return 0;
}

static int
begin_thaw(struct control *ctl, const struct session_row *s, int64_t *order,
    struct err *e)
{
	auto_rows struct rows *r = NULL;
	auto_free char *spec =
	    control_spec_text(json_pack("{s:I, s:I, s:i, s:s, s:s*}",
		"generation", (json_int_t)s->generation, "seconds",
		(json_int_t)ctl->conf->startup_allowance_seconds, "thawSeconds",
		UNFINISHED_S, "trace", ctl->trace, "actor",
		control_actor(ctl)));

	if (STORE_RUN(ctl->store, STMT_SESSION_THAW_BEGIN, &r, e, s->id, spec) <
	    0)
		return -1;
	CRASH_POINT("thaw.intent");
	*order = rows_int(r, 0, "suspend_order");
	return 0;
}

/*
 * The caller holds the sandbox's lock, so that of many requests one thaws it.
 */
static int
resume_locked(struct control *ctl, const char *session, struct err *e)
{
	struct session_row s;
	struct err why;
	int64_t order;

	if (control_session(ctl, session, "", &s, e) < 0)
		return -1;
	if (s.state == SESSION_READY)
		return 0;
	if (begin_thaw(ctl, &s, &order, e) < 0)
		return -1;
	if (thaw(ctl, &s, order, e) == 0)
		return 0;
	if (e->code == CODE_LEASE_CHANGED)
		return -1;
	why = *e;
	log_err(LOG_WARN, "thaw", &why);
	if (!is_overtaken(&why) &&
	    stop_request(ctl, session, STOP_SLEEP, "unhealthy-wrapper",
		"thaw_failed", -1, e) < 0)
		return -1;
	return err_set(e, ERR_BUSY, CODE_LEASE_CHANGED,
	    "the suspended session did not go on: %.150s", err_told(&why));
}

int
suspend_resume(struct control *ctl, const char *session, struct err *e)
{
	struct session_row s;
	int rc;

	if (control_session(ctl, session, "", &s, e) < 0 ||
	    control_lock(ctl, s.sandbox.id, e) < 0)
		return -1;
	rc = resume_locked(ctl, session, e);
	control_unlock(ctl, s.sandbox.id);
	return rc;
}
