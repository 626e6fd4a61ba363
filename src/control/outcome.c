/* outcome.c: records how a start ended. */
#include "control/outcome.h"

#include "common/fault.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "control/finish.h"
#include "control/start_error.h"
#include "control/stop.h"

int
outcome_verified(struct control *ctl, const struct launch *l, struct err *e)
{
	/* a setup may have left processes: only the wrapper knows them */
	bool shows = ctl->show && l->setup == NULL;
	auto_rows struct rows *r = NULL;
	auto_free char *spec = control_spec_text(
	    json_pack("{s:s, s:I, s:s, s:s, s:I, s:s, s:s*, s:s*, s:o, s:o*,"
		      " s:o*}",
		"instance", l->target.instance, "generation",
		(json_int_t)l->target.generation, "sandbox", l->sandbox.id,
		"incarnation", l->sandbox.incarnation, "seconds",
		(json_int_t)ctl->conf->ready_without_work_seconds, "trace",
		ctl->trace, "actor", control_actor(ctl), "version",
		l->version[0] != '\0' ? l->version : NULL, "steps",
		steps_json(&l->steps, NULL), "unlock",
		l->locked ? json_true() : NULL, "show",
		shows ? json_true() : NULL));

	if (STORE_RUN(ctl->store, STMT_SESSION_VERIFIED, &r, e,
		l->target.session, spec) < 0)
		return -1;
	CRASH_POINT("launch.verified");
	if (!rows_bool(r, 0, "applied"))
		return err_set(e, ERR_BUSY, CODE_LEASE_CHANGED,
		    "the session was stopped while it started");
	launch_diff_send(ctl, &l->target, &l->given, r);
	if (shows) {
		control_forget_started(ctl);
		ctl->started = TAKE(r);
	}
	return 0;
}

void
outcome_note_steps(struct control *ctl, const struct launch *l,
    const struct err *why)
{
	auto_free char *spec = NULL;
	struct err e = { 0 };

	/* no step is under way: outcome_verified() had them all */
	if (why != NULL && !steps_under_way(&l->steps))
		return;
	spec = control_spec_text(json_pack("{s:I, s:s, s:s*, s:o}",
	    "generation", (json_int_t)l->target.generation, "trace", ctl->trace,
	    "actor", control_actor(ctl), "steps", steps_json(&l->steps, why)));
	if (STORE_RUN(ctl->store, STMT_EVENT_STEPS, NULL, &e, l->target.session,
		spec) < 0)
		log_err(LOG_WARN, "event_steps", &e);
}

/*
 * Deletes the session of a create for which there was no room, and frees its
 * idempotency key.  False: a client knows the session already.
 */
static bool
delete_refused_create(struct control *ctl, const struct launch *l,
    const struct err *e)
{
	const char *session = l->target.session;
	auto_rows struct rows *r = NULL;
	struct err why = { 0 };
	bool gone;
	auto_free char *spec = control_spec_text(
	    json_pack("{s:s, s:s, s:s, s:I, s:o, s:s*}", "reason",
		"startup-failed", "trace", ctl->trace, "say", err_told(e),
		"generation", (json_int_t)l->target.generation, "steps",
		steps_json(&l->steps, e), "actor", control_actor(ctl)));

	/* one statement writes the request; the reaper finishes the rest */
	if (STORE_RUN(ctl->store, STMT_SESSION_REFUSED, &r, &why, session,
		spec) < 0) {
		log_err(LOG_WARN, "start_cleanup", &why);
		return true;
	}
	if (str_empty(rows_text(r, 0, "state")))
		return false;
	CRASH_POINT("refused.intent");
	if (stop_attempt(ctl, session, &why) < 0 ||
	    finish_delete(ctl, session, &gone, &why) < 0)
		log_err(LOG_WARN, "start_cleanup", &why);
	return true;
}

int
outcome_end(struct control *ctl, const struct launch *l, const struct err *e)
{
	const char *session = l->target.session;
	struct err ignored = { 0 };

	if (stop_failed_start(ctl, session, l->target.generation,
		steps_are_at(&l->steps, "ready") ? "readiness-failed"
						 : "startup-failed",
		err_told(e), steps_json(&l->steps, e), &ignored) < 0 ||
	    stop_attempt(ctl, session, &ignored) < 0)
		log_err(LOG_WARN, "start_cleanup", &ignored);
	return -1;
}

/* Records that the session's files are gone, which is final. */
static int
record_lost(struct control *ctl, const struct launch *l, const struct err *why,
    struct err *e)
{
	auto_free char *spec =
	    control_spec_text(json_pack("{s:s, s:I, s:b, s:s, s:s, s:s*, s:o}",
		"instance", l->target.instance, "generation",
		(json_int_t)l->target.generation, "lost", 1, "reason",
		"storage_gone", "trace", ctl->trace, "actor",
		control_actor(ctl), "steps", steps_json(&l->steps, why)));

	return STORE_RUN(ctl->store, STMT_SESSION_SANDBOX_GONE, NULL, e,
	    l->target.session, spec);
}

int
outcome_failed(struct control *ctl, const struct launch *l, bool condemned,
    struct err *e)
{
	struct err ignored = { 0 };

	if (start_undecided(e)) {
		/* a running setup shows by its output how far it is */
		if (!start_setup_running(e))
			outcome_note_steps(ctl, l, e);
		return -1;
	}
	log_err(LOG_WARN, "start_failed", e);
	CRASH_POINT("start.failed");
	if (e->kind == ERR_NO_SPACE)
		e->code = CODE_INSUFFICIENT_STORAGE; /* callers see one code */
	if (e->kind == ERR_NO_SPACE && l->first &&
	    delete_refused_create(ctl, l, e))
		return -1;
	if (condemned) { /* the rows of its sessions say so, this one's too */
		outcome_note_steps(ctl, l, e);
		return -1;
	}
	if (e->kind == ERR_GONE) {
		if (record_lost(ctl, l, e, &ignored) < 0)
			log_err(LOG_WARN, "start_cleanup", &ignored);
		return -1;
	}
	return outcome_end(ctl, l, e);
}
