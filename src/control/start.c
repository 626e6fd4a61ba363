/* start.c: gives a session a wrapper that answers. */
#include "control/start.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/fault.h"
#include "common/id.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "control/adopt.h"
#include "control/awake.h"
#include "control/discover.h"
#include "control/launch.h"
#include "control/network_control.h"
#include "control/outcome.h"
#include "control/sandbox_control.h"
#include "control/setup.h"
#include "control/stop.h"
#include "control/suspend.h"
#include "provider/link/link.h"

enum { TRIES = 3, PATIENCE_MS = 15000, MOVE_ON_MS = 5000, SOON_MS = 500 };

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

void
start_refused(struct control *ctl, const char *session, bool warm,
    const struct err *e)
{
	struct err why = { 0 };

	/* quotas are checked last, when the intent holds the lock */
	if (e->kind != ERR_LIMITED && e->code != CODE_TRY_AGAIN)
		return;
	if (!warm)
		launch_unlock(ctl, session);
	else if (STORE_RUN(ctl->store, STMT_START_UNLOCK_ALL, NULL, &why) < 0)
		log_err(LOG_WARN, "start_unlock", &why);
}

bool
start_under_way(struct control *ctl, const char *session)
{
	auto_rows struct rows *r = NULL;
	struct err e = { 0 };

	return STORE_RUN(ctl->store, STMT_START_UNDER_WAY, &r, &e, session) ==
	    0 &&
	    rows_bool(r, 0, "under_way");
}

/*
 * Waits while another process works on the start: a look would find no wrapper
 * yet and begin another generation.  A process that hangs is waited for at most
 * PATIENCE_MS.
 */
static int
wait_for_starter(struct control *ctl, const char *session, int64_t deadline_ms,
    struct err *e)
{
	int64_t patience_ms = clock_ms() + PATIENCE_MS;

	while (STORE_RUN(ctl->store, STMT_START_WAIT, NULL, e, session) < 0) {
		if (e->code != CODE_TRY_AGAIN)
			return -1;
		if (clock_ms() >= deadline_ms)
			return err_set(e, ERR_BUSY, CODE_BEING_STARTED,
			    "the session is being started");
		if (clock_ms() >= patience_ms)
			break;
	}
	*e = (struct err){ 0 };
	return 0;
}

static bool
is_ending(const struct session_row *s)
{
	return s->lease == LEASE_STOP_NEEDED || s->lease == LEASE_STOPPING;
}

/* Refuses a session that is over for ever. */
static int
must_live(const struct session_row *s, struct err *e)
{
	if (control_must_live(s->state, e) < 0)
		return -1;
	if (s->state == SESSION_LOST)
		return err_set(e, ERR_CONFLICT, CODE_SESSION_LOST,
		    "the session's files are gone; it can only be deleted");
	return 0;
}

/* Reads the row once no process is working on the session's start or stop. */
static int
read_settled(struct control *ctl, const char *session, const char *tenant,
    int64_t deadline_ms, struct session_row *s, struct err *e)
{
	for (;;) {
		if (control_session(ctl, session, tenant, s, e) < 0)
			return -1;
		if (s->state == SESSION_INITIALIZING &&
		    control_is_here(ctl, s) &&
		    (wait_for_starter(ctl, session, deadline_ms, e) < 0 ||
			control_session(ctl, session, tenant, s, e) < 0))
			return -1;
		/* from another host a look sees nothing and proves nothing */
		if (must_live(s, e) < 0 || control_must_be_here(ctl, s, e) < 0)
			return -1;
		if (!is_ending(s))
			return 0;
		if (stop_attempt_by(ctl, s, deadline_ms, e) < 0 ||
		    stop_wait(ctl, s, deadline_ms, e) < 0)
			return -1;
	}
}

static int
restart(struct control *ctl, const struct session_row *s, int64_t deadline_ms,
    struct err *e)
{
	auto_rows struct rows *plan = NULL;
	auto_free char *spec = NULL;
	json_t *intent;

	/* before the intent: the session stays asleep, and does not fail */
	if (control_ready(ctl, e) < 0 ||
	    (s->network && network_ready(ctl, deadline_ms, e) < 0))
		return -1;
	intent = start_intent(ctl);
	json_object_set_new(intent, "seenState",
	    json_string(LEASE_STATES[s->lease]));
	json_object_set_new(intent, "seenGeneration",
	    json_integer(s->generation));
	spec = control_spec_text(intent);
	if (STORE_RUN(ctl->store, STMT_SESSION_RESTART, &plan, e, s->id, spec) <
	    0) {
		start_refused(ctl, s->id, false, e);
		return -1;
	}
	CRASH_POINT("restart.intent");
	/* those of the generation that was seen gone */
	agent_unlink_sockets(ctl->conf, s->id, s->generation);
	return launch_act(ctl, plan, false, deadline_ms, e);
}

/* Whether the wrapper says that work is running; no answer counts as no. */
static bool
is_working(struct control *ctl, const struct session_row *s)
{
	struct err ignored = { 0 };
	struct agent_status st;

	return s->state == SESSION_READY &&
	    awake_ask(ctl, s, &st, &ignored) == 0 && st.busy;
}

/*
 * Intent: sets a startup deadline, after which the reaper finishes or repairs
 * the reuse.
 */
static int
reuse_intent(struct control *ctl, const struct session_row *s, struct err *e)
{
	auto_rows struct rows *r = NULL;
	auto_free char *spec = control_spec_text(
	    json_pack("{s:s, s:I, s:I, s:s, s:s*}", "instance", s->instance,
		"generation", (json_int_t)s->generation, "seconds",
		(json_int_t)ctl->conf->startup_allowance_seconds, "trace",
		ctl->trace, "actor", control_actor(ctl)));

	if (STORE_RUN(ctl->store, STMT_SESSION_REUSE, &r, e, s->id, spec) < 0)
		return -1;
	CRASH_POINT("reuse.intent");
	if (!rows_bool(r, 0, "applied"))
		return err_set(e, ERR_BUSY, CODE_LEASE_CHANGED, "%s",
		    rows_text(r, 0, "why"));
	return 0;
}

/*
 * Requests the stop of a wrapper that was ready and does not answer any more.
 */
static int
invalidate(struct control *ctl, const struct session_row *s, struct err *e)
{
	struct err why = *e;

	log_err(LOG_WARN, "unhealthy_wrapper", &why);
	if (stop_request(ctl, s->id, STOP_SLEEP, "unhealthy-wrapper", NULL, -1,
		e) < 0)
		return -1;
	CRASH_POINT("invalidate.intent");
	return err_set(e, ERR_BUSY, CODE_LEASE_CHANGED,
	    "the wrapper did not answer (%s)", why.msg);
}

/* Thaws a suspended session, which goes on where it was. */
static int
resume_suspended(struct control *ctl, const struct session_row *s,
    struct launch *l, struct err *e)
{
	if (suspend_resume(ctl, s->id, e) < 0) {
		outcome_note_steps(ctl, l, e);
		return -1;
	}
	steps_end(&l->steps);
	outcome_note_steps(ctl, l, NULL);
	return 0;
}

static void
enter_reused_steps(struct launch *l)
{
	static const char *const KEPT[] = { "workspace", "sandbox", "admission",
		"wrapper" };

	for (size_t i = 0; i < ARRAY_LEN(KEPT); i++)
		steps_enter(&l->steps, KEPT[i], "reused");
}

/* Reads the launch of the wrapper that was seen. */
static int
read_again(struct control *ctl, const struct session_row *s, struct launch *l,
    struct err *e)
{
	auto_rows struct rows *r = NULL;

	if (STORE_RUN(ctl->store, STMT_START_AGAIN, &r, e, s->id) < 0)
		return -1;
	if (rows_count(r) == 0 ||
	    rows_int(r, 0, "generation") != s->generation ||
	    !str_equal(rows_text(r, 0, "instance"), s->instance))
		return err_set(e, ERR_BUSY, CODE_LEASE_CHANGED,
		    "the session was stopped while it started");
	return launch_read(ctl, r, l, e);
}

/*
 * Writes the files again, in case they were not written.  Not after the setup
 * has begun, which may have changed them.  The network is attached again, too.
 */
static int
write_files_and_complete(struct control *ctl, struct launch *l,
    int64_t deadline_ms, struct err *e)
{
	bool begun = false;

	if (adopt_is_due(l) && adopt_wrapper(ctl, l, deadline_ms, e) < 0)
		return -1;
	if (l->setup != NULL &&
	    setup_has_begun(ctl, l, deadline_ms, &begun, e) < 0)
		return -1;
	if (!begun && launch_write_files(ctl, l, deadline_ms, e) < 0)
		return -1;
	if (launch_network(ctl, l, deadline_ms, e) < 0)
		return -1;
	CRASH_POINT("start.again");
	return launch_complete(ctl, l, deadline_ms, e);
}

/* Finishes a start that another process has begun. */
static int
finish_begun_start(struct control *ctl, const struct session_row *s,
    int64_t deadline_ms, struct err *e)
{
	auto_launch struct launch l = { 0 };
	int64_t soon_ms = clock_ms() + SOON_MS;

	if (read_again(ctl, s, &l, e) < 0)
		return -1;
	/* other starts wait behind a setup that prints a lot, or nothing */
	if (ctl->try_setup && l.setup != NULL && soon_ms < deadline_ms)
		deadline_ms = soon_ms;
	launch_given_forget(&l.given);
	enter_reused_steps(&l);
	if (write_files_and_complete(ctl, &l, deadline_ms, e) == 0)
		return 0;
	/* after any other error the next look may find it in order */
	if (start_setup_failed(e))
		return outcome_end(ctl, &l, e);
	if (!start_setup_running(e))
		outcome_note_steps(ctl, &l, e);
	return -1;
}

/*
 * Proves a ready wrapper.  Even for a caller that does not wait, the wrapper
 * has SOON_MS to answer.
 */
static int
prove_warm(struct control *ctl, struct launch *l, int64_t deadline_ms,
    struct err *e)
{
	int64_t soon_ms = clock_ms() + SOON_MS;

	l->hurried = clock_left_ms(deadline_ms) < LAUNCH_FAIR_MS;
	return agent_prove(&ctl->provider, &l->target,
	    deadline_ms > soon_ms ? deadline_ms : soon_ms, e);
}

/*
 * Whether the error counts against the wrapper.  A silence that the caller's
 * deadline cut short proves nothing.
 */
static bool
counts_against_wrapper(const struct launch *l, const struct err *e)
{
	return !l->hurried || e->code != CODE_TIMED_OUT;
}

/*
 * Uses the wrapper that was found.  One in which work runs is left alone.  Else
 * it is proved by a command, and a ready one that fails is to be stopped.
 */
static int
reuse(struct control *ctl, const struct session_row *s, int64_t deadline_ms,
    struct err *e)
{
	struct launch l = { .sandbox = s->sandbox,
		.target = control_target(s) };
	bool warm = s->state == SESSION_READY, working = is_working(ctl, s);

	if (!warm && !s->suspended)
		return finish_begun_start(ctl, s, deadline_ms, e);
	if (working)
		return 0; /* nothing is started: no steps */
	if (!warm) {
		enter_reused_steps(&l);
		steps_enter(&l.steps, "ready", "proved");
		return resume_suspended(ctl, s, &l, e);
	}
	if (reuse_intent(ctl, s, e) < 0)
		return -1;
	steps_enter(&l.steps, "ready", "proved");
	if (prove_warm(ctl, &l, deadline_ms, e) < 0) {
		outcome_note_steps(ctl, &l, e);
		return counts_against_wrapper(&l, e)
		    ? invalidate(ctl, s, e)
		    : err_set(e, ERR_BUSY, CODE_BEING_STARTED,
			  "the wrapper has not answered yet");
	}
	/* nothing was started: the lease's events tell of the proof */
	l.steps = (struct steps){ 0 };
	CRASH_POINT("reuse.proved");
	return outcome_verified(ctl, &l, e);
}

static int
refuse_until_gone(struct control *ctl, const struct session_row *s,
    const char *reason, struct err *e)
{
	struct err why = *e;

	if (stop_request(ctl, s->id, STOP_SLEEP, reason, NULL, -1, e) < 0)
		return -1;
	CRASH_POINT("refuse.intent");
	return err_set(e, ERR_BUSY, CODE_LEASE_BUSY,
	    "the last wrapper must be seen gone first (%s)",
	    why.msg[0] != '\0' ? why.msg : reason);
}

/*
 * Seals the generation that was seen absent: a launch of it that is still on
 * its way must not arrive after the next generation was allocated.
 */
static int
seal_absent(struct control *ctl, const struct session_row *s, struct err *e)
{
	bool absent;

	if (s->lease != LEASE_OWNS_WRAPPER)
		return 0; /* sealed when the lease was released */
	if (discover_seal(ctl, s, &absent, e) < 0)
		return -1;
	if (!absent)
		return err_set(e, ERR_BUSY, CODE_LEASE_CHANGED,
		    "a launch arrived after the look");
	return 0;
}

/*
 * Looks under the sandbox's lock.  If the sandbox is down and its row says that
 * it runs, the rows are corrected.
 */
static int
look_under_lock(struct control *ctl, const struct session_row *s,
    enum look_result *found, struct err *e)
{
	bool down;
	size_t siblings;
	int rc = 0;

	if (control_lock(ctl, s->sandbox.id, e) < 0)
		return -1;
	*found = discover(ctl, s, &down, e);
	if (*found == LOOK_ABSENT && !down)
		rc = seal_absent(ctl, s, e);
	CRASH_POINT("look.looked");
	if (down && discover_row_runs(s)) {
		rc = sandbox_control_gone(ctl, s->sandbox.id,
		    s->sandbox.incarnation, &siblings, e);
		if (rc == 0) /* the rows have changed: look again */
			rc = err_set(e, ERR_BUSY, CODE_LEASE_CHANGED,
			    "the sandbox was down");
	}
	CRASH_POINT("look.done");
	control_unlock(ctl, s->sandbox.id);
	return rc;
}

static int
look_and_start(struct control *ctl, const struct session_row *s,
    int64_t deadline_ms, struct err *e)
{
	enum look_result found = LOOK_UNKNOWN;

	if (look_under_lock(ctl, s, &found, e) < 0)
		return -1;
	switch (found) {
	case LOOK_ABSENT:
		if (s->state == SESSION_READY)
			control_note_death(ctl, s->sandbox.id, s->id,
			    s->generation);
		return restart(ctl, s, deadline_ms, e);
	case LOOK_OURS:
		if (s->lease == LEASE_OWNS_WRAPPER)
			return reuse(ctl, s, deadline_ms, e);
		return refuse_until_gone(ctl, s, "unexpected-wrapper", e);
	case LOOK_OTHER:
		return refuse_until_gone(ctl, s, "unexpected-wrapper", e);
	case LOOK_UNKNOWN:
		return refuse_until_gone(ctl, s, "observation-failed", e);
	}
	return err_set(e, ERR_INTERNAL, CODE_INTERNAL,
	    "a look without an answer");
}

/*
 * All tries are used up.  A session that is asleep now has failed to start: a
 * caller that waits must not take it for one that is still starting.
 */
static int
give_up(struct control *ctl, const char *session, const char *tenant,
    struct err *e)
{
	struct session_row s;
	struct err ignored = { 0 };

	if (control_session(ctl, session, tenant, &s, &ignored) == 0 &&
	    s.state == SESSION_ASLEEP)
		return err_set(e, ERR_UNAVAILABLE, CODE_START_FAILED,
		    "the sandbox was gone again each time it was started");
	return -1;
}

/*
 * Whether the session was put to sleep while it started: after generation
 * `first`, which we found, or after the start that is to be finished.
 */
static bool
was_stopped(const struct session_row *s, bool only_unfinished, int64_t first)
{
	if (only_unfinished)
		return s->state != SESSION_INITIALIZING && !s->gone;
	return s->put_to_sleep && s->generation > first;
}

static int
try_to_start(struct control *ctl, const char *session, const char *tenant,
    bool only_unfinished, int64_t deadline_ms, struct err *e)
{
	int64_t first = INT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		struct session_row s;

		/* the client has its answer: the start may take longer */
		if (ctl->answer == NULL && ctl->go_on_ms > deadline_ms)
			deadline_ms = ctl->go_on_ms;
		*e = (struct err){ 0 };
		if (read_settled(ctl, session, tenant, deadline_ms, &s, e) < 0)
			return -1;
		if (first == INT64_MAX)
			first = s.generation;
		if (only_unfinished && s.state == SESSION_READY)
			return 0;
		if (was_stopped(&s, only_unfinished, first))
			return err_set(e, ERR_CONFLICT, CODE_START_STOPPED,
			    "the session was put to sleep while it started");
		if (look_and_start(ctl, &s, deadline_ms, e) == 0)
			return 0;
		if (!start_worth_retry(e))
			return -1;
	}
	return give_up(ctl, session, tenant, e);
}

int
start_session(struct control *ctl, const char *session, const char *tenant,
    int64_t deadline_ms, struct err *e)
{
	return try_to_start(ctl, session, tenant, false, deadline_ms, e);
}

int
start_finish(struct control *ctl, const char *session, const char *tenant,
    int64_t deadline_ms, struct err *e)
{
	return try_to_start(ctl, session, tenant, true, deadline_ms, e);
}

bool
start_move_on(struct control *ctl, const char *session, const char *tenant)
{
	struct err e = { 0 };

	if (start_under_way(ctl, session))
		return false;
	ctl->try_setup = true;
	if (start_finish(ctl, session, tenant, clock_ms() + MOVE_ON_MS, &e) <
		0 &&
	    !start_undecided(&e) && e.code != CODE_START_STOPPED)
		log_err(LOG_INFO, "start_move_on", &e);
	ctl->try_setup = false;
	return true;
}
