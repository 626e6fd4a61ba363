/* start_act.c: carrying out an intent to start, and recording what came of it. */
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/fault.h"
#include "common/id.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "control/evidence.h"
#include "control/finish.h"
#include "control/setup.h"
#include "control/start.h"
#include "control/stop.h"

json_t *
start_intent(struct control *ctl)
{
	char instance[ID_MAX], incarnation[ID_MAX];

	ctl->intent_ms = clock_ms();
	id_random(instance, ID_INSTANCE_LEN);
	id_random(incarnation, ID_INCARNATION_LEN);
	return json_pack("{s:s, s:s, s:s, s:s, s:I, s:s, s:s*}", "instance",
	    instance, "incarnation", incarnation, "host", ctl->conf->host_name,
	    "boot", ctl->provider.boot_id, "seconds",
	    (json_int_t)ctl->conf->startup_allowance_seconds, "trace",
	    ctl->trace, "actor", control_actor(ctl));
}

bool
start_worth_retry(const struct err *e)
{
	return CODE_IS_ONE_OF(e->code, CODE_NOT_LISTENING, CODE_PEER_CLOSED,
	    CODE_STALE_INCARNATION, CODE_STALE_GENERATION, CODE_ALREADY_RUNNING,
	    CODE_LEASE_CHANGED);
}

bool
start_undecided(const struct err *e)
{
	if (start_worth_retry(e))
		return true;
	return (e->kind == ERR_BUSY || e->kind == ERR_UNAVAILABLE) &&
	    !CODE_IS_ONE_OF(e->code, CODE_START_FAILED, CODE_LAUNCH_FAILED,
		CODE_NO_ROOTFS, CODE_DRAINING, CODE_OTHER_HOST,
		CODE_HOST_NOT_READY);
}

bool
start_must_wait(const struct err *e)
{
	return e->code == CODE_LEASE_BUSY;
}

bool
start_setup_running(const struct err *e)
{
	return e->code == CODE_SETUP_RUNNING;
}

bool
start_setup_failed(const struct err *e)
{
	return e->code == CODE_SETUP_FAILED;
}

/*
 * A create without room leaves nothing: neither its key nor a session.  False:
 * somebody knows of it already.
 */
static bool
take_back(struct control *ctl, const struct launch *l, const struct err *e)
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

	/* the wish is one statement; what fails after it the reaper finishes */
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

/* It failed, and that is final for this life of the session. */
int
start_end(struct control *ctl, const struct launch *l, const struct err *e)
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

static int
failed(struct control *ctl, const struct launch *l, bool condemned,
    struct err *e)
{
	struct err ignored = { 0 };

	if (start_undecided(e)) {
		/* a setup that goes on tells by its output how far it is */
		if (!start_setup_running(e))
			launch_note_steps(ctl, l, e);
		return -1;
	}
	log_err(LOG_WARN, "start_failed", e);
	CRASH_POINT("start.failed");
	if (e->kind == ERR_NO_SPACE)
		e->code = CODE_INSUFFICIENT_STORAGE; /* one word for callers */
	if (e->kind == ERR_NO_SPACE && l->first && take_back(ctl, l, e))
		return -1;
	if (condemned) { /* its sessions have been told, this one too */
		launch_note_steps(ctl, l, e);
		return -1;
	}
	if (e->kind == ERR_GONE) {
		if (launch_lost(ctl, l, e, &ignored) < 0)
			log_err(LOG_WARN, "start_cleanup", &ignored);
		return -1;
	}
	return start_end(ctl, l, e);
}

/* What is left when the wrapper is there: setup, proof, outcome. */
int
start_complete(struct control *ctl, struct launch *l, int64_t deadline_ms,
    struct err *e)
{
	if (l->setup != NULL) {
		steps_enter(&l->steps, "setup", "run");
		if (setup_run(ctl, l, deadline_ms, e) < 0)
			return -1;
	}
	if (launch_prove(ctl, l, deadline_ms, e) < 0)
		return -1;
	return launch_verified(ctl, l, e);
}

/* A setup may take minutes: those who share the sandbox do not wait for it. */
static int
act(struct control *ctl, const struct rows *plan, bool alone, bool locked,
    int64_t deadline_ms, struct err *e)
{
	auto_launch struct launch l = { 0 };
	const char *sandbox = rows_text(plan, 0, "sandbox_id");
	bool condemned;
	int rc;

	if (!alone && control_lock(ctl, sandbox, e) < 0)
		return -1;
	CRASH_POINT("start.locked");
	rc = launch_read(ctl, plan, &l, e);
	l.locked = locked;
	if (rc == 0)
		rc = launch_bring_up(ctl, plan, &l, deadline_ms, e);
	if (rc == 0 && l.setup == NULL)
		rc = start_complete(ctl, &l, deadline_ms, e);
	condemned = rc < 0 && evidence_weigh(ctl, &l, e);
	CRASH_POINT("start.acted");
	if (!alone)
		control_unlock(ctl, sandbox);
	if (rc == 0 && l.setup != NULL) {
		/* before the setup's first output, which comes after them */
		steps_end(&l.steps);
		launch_note_steps(ctl, &l, NULL);
		l.steps = (struct steps){ 0 };
		rc = start_complete(ctl, &l, deadline_ms, e);
	}
	return rc == 0 ? 0 : failed(ctl, &l, condemned, e);
}

static void
unlock(struct control *ctl, const char *session)
{
	struct err e = { 0 };

	/* if it cannot be said, the connection is gone, and the lock with it */
	if (STORE_RUN(ctl->store, STMT_START_UNLOCK, NULL, &e, session) < 0)
		log_err(LOG_WARN, "start_unlock", &e);
}

void
start_refused(struct control *ctl, const char *session, const struct err *e)
{
	/* a quota is settled last, when the lock has been taken */
	if (e->kind == ERR_LIMITED || e->code == CODE_TRY_AGAIN)
		unlock(ctl, session);
}

/* Answers a client that does not wait; the start is then as long as any. */
static void
answer_first(struct control *ctl, const char *session, int64_t *deadline_ms)
{
	ctl->answer(ctl->answer_ctx, session);
	ctl->answer = NULL; /* a second intent of this request tells nobody */
	ctl->glance = true;
	*deadline_ms = ctl->go_on_ms;
}

int
start_act(struct control *ctl, const struct rows *plan, bool alone,
    int64_t deadline_ms, struct err *e)
{
	bool locked = rows_bool(plan, 0, "start_lock");
	int rc;

	if (ctl->answer != NULL) {
		answer_first(ctl, rows_text(plan, 0, "session_id"),
		    &deadline_ms);
		alone = false; /* the client knows the session's id */
	}
	rc = act(ctl, plan, alone, locked, deadline_ms, e);
	if (rc < 0 && locked)
		unlock(ctl, rows_text(plan, 0, "session_id"));
	return rc;
}
