/* stop.c: stops sessions, and verifies that they are gone. */
#include "control/stop.h"

#include "common/clock.h"
#include "common/fault.h"
#include "common/mem.h"
#include "common/str.h"
#include "control/waiter.h"
#include "control/wave.h"
#include "provider/link/link.h"

static const char *const STOP_KINDS[] = {
	[STOP_SLEEP] = "sleep",
	[STOP_DELETE] = "delete",
	[STOP_FAIL] = "fail",
};

int
stop_request(struct control *ctl, const char *session, enum stop_kind kind,
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
	    session, STOP_KINDS[kind], text);
}

int
stop_failed_start(struct control *ctl, const char *session, int64_t generation,
    const char *reason, const char *say, json_t *steps, struct err *e)
{
	auto_free char *spec = control_spec_text(
	    json_pack("{s:s, s:s, s:s*, s:s, s:I, s:o*}", "reason", reason,
		"trace", ctl->trace, "actor", control_actor(ctl), "say", say,
		"generation", (json_int_t)generation, "steps", steps));

	if (STORE_RUN(ctl->store, STMT_SESSION_REQUEST_STOP, NULL, e, session,
		STOP_KINDS[STOP_FAIL], spec) < 0)
		return -1;
	CRASH_POINT("fail.intent");
	return 0;
}

int
stop_attempt(struct control *ctl, const char *session, struct err *e)
{
	auto_wave struct wave *w = NULL;

	if (wave_claim_one(ctl, session, &w, e) < 0)
		return -1;
	return wave_run(ctl, w, e); /* empty: not due, or another's */
}

/* ATTEMPT_MS: how long an attempt takes, besides waiting for a silent init. */
enum { ATTEMPT_MS = 5000, SOON_MS = 500 };

static int
say_not_gone(struct err *e)
{
	return err_set(e, ERR_BUSY, CODE_LEASE_BUSY,
	    "the session is being stopped, and its last process has not been seen gone yet");
}

/* Even for a caller that does not wait, init has SOON_MS to answer. */
static bool
is_init_silent(struct control *ctl, const struct session_row *s,
    int64_t deadline_ms)
{
	char version[AGENT_VERSION_MAX];
	int64_t soon_ms = clock_ms() + SOON_MS;
	struct err e = { 0 };

	return agent_ping(&ctl->provider, s->sandbox.id, s->sandbox.incarnation,
		   version, deadline_ms > soon_ms ? deadline_ms : soon_ms,
		   &e) < 0 &&
	    e.code == CODE_TIMED_OUT;
}

int
stop_attempt_by(struct control *ctl, const struct session_row *s,
    int64_t deadline_ms, struct err *e)
{
	int64_t takes_ms = ctl->conf->discovery_seconds * 1000 + ATTEMPT_MS;

	if (clock_left_ms(deadline_ms) < takes_ms && s->stop_due_ms == 0 &&
	    s->lease == LEASE_STOP_NEEDED &&
	    is_init_silent(ctl, s, deadline_ms))
		return say_not_gone(e);
	return stop_attempt(ctl, s->id, e);
}

/*
 * Whether to wait: another process makes an attempt, or the next attempt is not
 * due yet.  *until_ms is lowered to the time when it is due.
 */
static bool
must_wait(const struct session_row *s, int64_t *until_ms)
{
	int64_t due_ms = clock_ms() + s->stop_due_ms;

	if (s->lease == LEASE_STOPPING)
		return true;
	if (s->lease != LEASE_STOP_NEEDED || s->stop_due_ms == 0)
		return false;
	if (due_ms < *until_ms)
		*until_ms = due_ms;
	return true;
}

static int
wait_while_stopping(struct control *ctl, const char *session,
    int64_t deadline_ms, struct err *e)
{
	enum listen_why why = LISTEN_TOLD;
	int64_t until_ms;

	do {
		struct session_row now;

		until_ms = deadline_ms;
		if (control_session(ctl, session, "", &now, e) < 0)
			return -1;
		if (!must_wait(&now, &until_ms))
			return 0;
		if (listen_wait(ctl->store, -1, until_ms, &why, e) < 0)
			return -1;
	} while (why == LISTEN_TOLD ||
	    (until_ms < deadline_ms && clock_ms() >= until_ms));
	return say_not_gone(e);
}

int
stop_wait(struct control *ctl, const struct session_row *s, int64_t deadline_ms,
    struct err *e)
{
	struct waiter w;
	int rc = waiter_begin(&w, ctl->store, s->id, s->tenant, deadline_ms, e);

	if (rc == 0)
		rc = wait_while_stopping(ctl, s->id, deadline_ms, e);
	waiter_end(&w);
	return rc;
}

int
stop_request_all(struct control *ctl, const struct stop_subject *who,
    size_t count, enum stop_kind kind, const char *reason, const char *say,
    size_t *changed, struct err *e)
{
	json_t *list = json_array();
	auto_rows struct rows *r = NULL;
	auto_free char *spec = NULL;

	*changed = 0;
	for (size_t i = 0; i < count; i++) {
		json_t *one =
		    json_pack("{s:s, s:s*, s:b}", "id", who[i].session,
			"seenRow", who[i].seen_row, "late", who[i].late);

		if (who[i].seen_activity >= 0)
			json_object_set_new(one, "seenActivity",
			    json_integer(who[i].seen_activity));
		if (who[i].generation > 0)
			json_object_set_new(one, "generation",
			    json_integer(who[i].generation));
		json_array_append_new(list, one);
	}
	spec = control_spec_text(json_pack("{s:o, s:s, s:s, s:s*, s:s*}",
	    "sessions", list, "reason", reason, "trace", ctl->trace, "actor",
	    control_actor(ctl), "say", say));
	if (count == 0)
		return 0;
	if (STORE_RUN(ctl->store, STMT_STOP_REQUESTS, &r, e, STOP_KINDS[kind],
		spec) < 0)
		return -1;
	CRASH_POINT("stop_requests.intent");
	*changed = rows_count(r);
	return 0;
}
