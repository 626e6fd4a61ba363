/* ask.c: asks wrappers what they are doing before it decides about them. */
#include "reaper/ask.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "control/awake.h"
#include "control/keys_control.h"
#include "control/stop.h"
#include "control/suspend.h"
#include "control/wave.h"
#include "reaper/plan.h"
#include "reaper/sighting.h"

enum { ASK_MS = 2000, INIT_MS = 1000, PATIENT_MS = 5000 };

struct ask_part {
	const char *name;
	enum stmt due;
	enum plan_due why;
};

struct asked {
	struct awake_question one;
	struct stop_subject subject;
	enum plan_verdict verdict;
	int64_t ask_ms;
	bool moved;
	bool suspend; /* sleep means to freeze it */
	/* if the wrapper does not answer: */
	bool init_answers;
	bool silent_before; /* in the last pass, too */
};

struct batch {
	struct asked who[WAVE_MAX];
	size_t count;
};

static void
read_row(const struct rows *r, size_t i, struct asked *a)
{
	const struct agent_target *t = &a->one.target;

	a->one.target = row_target(r, i);
	a->suspend = rows_bool(r, i, "suspend");
	a->subject = (struct stop_subject){ .session = t->session,
		.seen_activity = rows_int(r, i, "activity_seq"),
		.generation = t->generation };
}

/* The wrapper exists and does not say what it does.  No wrapper has no work. */
static bool
is_unknown(const struct awake_question *one)
{
	return !one->answered && awake_is_unknown(&one->e);
}

/* "busy" is an answer of the wrapper itself: it is alive. */
static bool
is_silent(const struct awake_question *one)
{
	return is_unknown(one) && one->e.code != CODE_BUSY;
}

static void
judge_status(struct pass *p, const struct ask_part *part, const struct rows *r,
    size_t i, struct asked *a)
{
	const struct agent_status *st = &a->one.status;
	const bool told = a->one.answered;
	const struct plan_work w = {
		.silent = is_unknown(&a->one),
		.starting = state_session_parse(rows_text(r, i, "state")) ==
		    SESSION_INITIALIZING,
		.busy = told && st->busy,
		.served = told ? st->served : 0,
		.quiet_ms = told ? st->quiet_ms : 0,
		.limit_ms = told ? st->limit_ms : 0,
		.cpu_ms = told ? st->cpu_ms : -1,
		.old_cpu_ms =
		    rows_null(r, i, "cpu_ms") ? -1 : rows_int(r, i, "cpu_ms"),
		.cpu_age_ms = rows_int(r, i, "cpu_age_ms"),
	};

	a->verdict = plan_work(part->why, &w,
	    p->ctl->conf->stuck_seconds * 1000, &a->ask_ms, &a->moved);
}

/* ---- those that do not answer */

typedef bool choose_fn(const struct asked *a);

static bool
is_unanswered(const struct asked *a)
{
	return a->verdict == PLAN_LEAVE && is_silent(&a->one);
}

static bool
was_silent_before(const struct asked *a)
{
	return is_unanswered(a) && a->init_answers && a->silent_before;
}

/*
 * Asks the wrappers again that `choose` selects; their answers are in `ones`.
 */
static void
ask_again(struct pass *p, struct batch *b, choose_fn *choose,
    awake_ask_fn *ask_all_of, int64_t patience_ms, struct awake_question *ones)
{
	struct awake_question *ask[WAVE_MAX];
	size_t n = 0;

	for (size_t i = 0; i < b->count; i++)
		if (choose(&b->who[i])) {
			ones[i] = (struct awake_question){ 0 };
			ones[i].target = b->who[i].one.target;
			ask[n++] = &ones[i];
		}
	ask_all_of(p->ctl, patience_ms, ask, n);
}

/*
 * Notes that the wrapper was silent.  a->silent_before: it was silent in the
 * pass before, too, in the same generation and without a call since.
 */
static void
note_silence(struct pass *p, const struct ask_part *part, struct asked *a)
{
	auto_free char *thing = xasprintf("%s%s/%s.%" PRId64 ".%" PRId64,
	    SIGHTING_SILENT, part->name, a->one.target.session,
	    a->one.target.generation, a->subject.seen_activity);
	struct err e = { 0 };

	if (sighting_again(p, thing, &a->silent_before, &e) < 0)
		pass_failed(p, part->name, &e);
}

/*
 * A wrapper that its own tenant has stopped (SIGSTOP) would never sleep.  So a
 * wrapper that is silent in two passes in a row is asked once more, with
 * patience, and then stopped.  A slow host is no reason: init, which is in the
 * same sandbox, must answer meanwhile.
 */
static void
judge_silent(struct pass *p, const struct ask_part *part, const struct rows *r,
    struct batch *b)
{
	auto_free struct awake_question *ones =
	    xcalloc(WAVE_MAX, sizeof(*ones));

	ask_again(p, b, is_unanswered, awake_ask_init, INIT_MS, ones);
	for (size_t i = 0; i < b->count; i++) {
		struct asked *a = &b->who[i];

		if (!is_unanswered(a))
			continue;
		a->init_answers = ones[i].answered;
		if (a->init_answers)
			note_silence(p, part, a);
	}
	ask_again(p, b, was_silent_before, awake_ask_usage, PATIENT_MS, ones);
	for (size_t i = 0; i < b->count; i++) {
		struct asked *a = &b->who[i];

		if (!was_silent_before(a))
			continue;
		a->one = ones[i];
		judge_status(p, part, r, i, a);
		if (is_unanswered(a))
			a->verdict = PLAN_UNHEALTHY;
	}
}

/*
 * Logs a wrapper that is left for the next pass.  A silent wrapper is no
 * failure of the pass, because its tenant can make it silent.
 */
static void
log_unjudged(struct pass *p, const struct ask_part *part, struct asked *a)
{
	if (a->verdict != PLAN_LEAVE)
		return;
	err_wrap(&a->one.e, "session %s", a->one.target.session);
	if (is_silent(&a->one) && a->init_answers)
		log_err(LOG_INFO, "silent_wrapper", &a->one.e);
	else
		pass_failed(p, part->name, &a->one.e);
}

static void
ask_and_judge(struct pass *p, const struct ask_part *part, const struct rows *r,
    struct batch *b)
{
	struct awake_question *ask[WAVE_MAX];

	b->count = rows_count(r) < WAVE_MAX ? rows_count(r) : WAVE_MAX;
	for (size_t i = 0; i < b->count; i++) {
		read_row(r, i, &b->who[i]);
		ask[i] = &b->who[i].one;
	}
	awake_ask_usage(p->ctl, ASK_MS, ask, b->count);
	for (size_t i = 0; i < b->count; i++)
		judge_status(p, part, r, i, &b->who[i]);
	judge_silent(p, part, r, b);
	for (size_t i = 0; i < b->count; i++)
		log_unjudged(p, part, &b->who[i]);
}

/* ---- decisions */

static json_t *
answer_of(const struct asked *a)
{
	const struct agent_target *t = &a->one.target;
	bool warm = a->verdict == PLAN_WARM || a->verdict == PLAN_REPAIR;

	return json_pack("{s:s, s:I, s:s, s:b, s:I, s:b, s:f, s:b, s:b}", "id",
	    t->session, "generation", (json_int_t)t->generation, "instance",
	    t->instance, "busy", a->one.answered && a->one.status.busy, "cpu",
	    (json_int_t)a->one.status.cpu_ms, "moved", a->moved, "askSeconds",
	    (double)a->ask_ms / 1000, "warm", warm, "accepted",
	    a->verdict == PLAN_REPAIR);
}

static int
write_answers(struct pass *p, const struct batch *b, struct err *e)
{
	json_t *list = json_array();
	auto_free char *spec = NULL;

	for (size_t i = 0; i < b->count; i++) {
		enum plan_verdict v = b->who[i].verdict;

		if (v == PLAN_KEEP || v == PLAN_WARM || v == PLAN_REPAIR)
			json_array_append_new(list, answer_of(&b->who[i]));
	}
	spec = control_spec_text(
	    json_pack("{s:O, s:s}", "asked", list, "trace", p->ctl->trace));
	if (json_array_size(list) == 0) {
		json_decref(list);
		return 0;
	}
	json_decref(list);
	return STORE_RUN(p->ctl->store, STMT_SESSIONS_ASKED, NULL, e, spec);
}

/*
 * Writes the stop requests of one verdict.  A request is dropped if a call came
 * meanwhile or another generation began.
 */
static int
write_stop_requests(struct pass *p, const struct batch *b,
    enum plan_verdict verdict, enum stop_kind what, const char *reason,
    const char *say, int64_t *count, struct err *e)
{
	struct stop_subject who[WAVE_MAX];
	size_t n = 0, changed;

	for (size_t i = 0; i < b->count; i++)
		if (b->who[i].verdict == verdict) {
			who[n] = b->who[i].subject;
			who[n++].late = verdict == PLAN_FAIL;
		}
	if (stop_request_all(p->ctl, who, n, what, reason, say, &changed, e) <
	    0)
		return -1;
	*count += (int64_t)changed;
	return 0;
}

/*
 * Settles an idle session that needs no stop request: it has worked since its
 * row was written, or it sleeps by being frozen.
 */
static int
settle_idle(struct pass *p, struct asked *a, struct err *e)
{
	const char *session = a->one.target.session;
	bool spared = false;

	if (a->one.answered &&
	    awake_was_active(p->ctl, session, a->one.target.generation,
		a->one.status.idle_ms, &spared, e) < 0)
		return -1;
	if (!spared && !a->suspend)
		return 0;
	a->verdict = PLAN_SETTLED;
	if (spared)
		return 0;
	p->slept++;
	return suspend_session(p->ctl, session, "idle-timeout",
	    a->subject.seen_activity, e);
}

static int
carry_out_verdicts(struct pass *p, struct batch *b, struct err *e)
{
	for (size_t i = 0; i < b->count; i++) {
		struct asked *a = &b->who[i];

		if (a->verdict != PLAN_SLEEP)
			continue;
		/* no time is left: the next pass freezes it */
		if (a->suspend && !pass_has_time(p))
			a->verdict = PLAN_SETTLED;
		else if (settle_idle(p, a, e) < 0)
			return -1;
	}
	if (write_answers(p, b, e) < 0 ||
	    write_stop_requests(p, b, PLAN_FAIL, STOP_FAIL, "startup-failed",
		"it was not ready within its time", &p->failed_starts, e) < 0 ||
	    write_stop_requests(p, b, PLAN_SLEEP, STOP_SLEEP, "idle-timeout",
		NULL, &p->slept, e) < 0)
		return -1;
	if (write_stop_requests(p, b, PLAN_UNHEALTHY, STOP_SLEEP,
		"unhealthy-wrapper", NULL, &p->slept, e) < 0)
		return -1;
	return write_stop_requests(p, b, PLAN_STUCK, STOP_SLEEP, "stuck", NULL,
	    &p->stuck, e);
}

/* Best effort: the next question finds them again. */
static void
take_keys(struct pass *p, const struct batch *b)
{
	for (size_t i = 0; i < b->count && pass_has_time(p); i++) {
		const struct awake_question *one = &b->who[i].one;
		struct err e = { 0 };

		if (one->answered && one->status.keys > 0 &&
		    keys_pull(p->ctl, &one->target, &e) < 0)
			log_err(LOG_INFO, "keys", &e);
	}
}

static void
unlock_sessions(struct pass *p, const struct rows *r)
{
	json_t *ids = json_array();
	auto_free char *text = NULL;
	struct err e = { 0 };

	for (size_t i = 0; i < rows_count(r); i++)
		json_array_append_new(ids,
		    json_string(rows_text(r, i, "session_id")));
	text = control_spec_text(ids);
	/* a lost connection has released its locks */
	if (STORE_RUN(p->ctl->store, STMT_SESSIONS_UNLOCK, NULL, &e, text) < 0)
		log_err(LOG_WARN, "unlock", &e);
}

/* ---- a part */

static int
find_due(struct pass *p, const struct ask_part *part, struct pass_cursor *c,
    struct rows **r, struct err *e)
{
	struct pass_number limit = pass_number(p->ctl->conf->reaper_batch);
	size_t n;

	if (STORE_RUN(p->ctl->store, part->due, r, e, p->ctl->conf->host_name,
		control_boot_id(p->ctl), c->at, c->id, limit.text) < 0)
		return -1;
	n = rows_count(*r);
	if (n > 0) {
		str_copy(c->at, sizeof(c->at), rows_text(*r, n - 1, "at"));
		str_copy(c->id, sizeof(c->id),
		    rows_text(*r, n - 1, "session_id"));
	}
	p->scanned += (int64_t)n;
	return 0;
}

/* Runs one batch.  True when there may be more. */
static bool
run_batch(struct pass *p, const struct ask_part *part, struct pass_cursor *c,
    struct batch *b)
{
	auto_rows struct rows *r = NULL;
	struct err e = { 0 };

	if (find_due(p, part, c, &r, &e) < 0) {
		pass_failed(p, part->name, &e);
		return false;
	}
	if (rows_count(r) == 0)
		return false;
	if (p->dry_run) {
		for (size_t i = 0; i < rows_count(r); i++)
			printf("%s: %s\n", part->name,
			    rows_text(r, i, "session_id"));
	} else {
		ask_and_judge(p, part, r, b);
		take_keys(p, b);
		if (carry_out_verdicts(p, b, &e) < 0)
			pass_failed(p, part->name, &e);
	}
	unlock_sessions(p, r);
	return !p->dry_run;
}

static void
run_batches(struct pass *p, const struct ask_part *part, struct pass_cursor *c)
{
	auto_free struct batch *b = xcalloc(1, sizeof(*b));

	if (c->at[0] == '\0')
		str_copy(c->at, sizeof(c->at), "-infinity");
	while (pass_has_time(p) && run_batch(p, part, c, b))
		*b = (struct batch){ 0 };
}

void
ask_late_starts(struct pass *p)
{
	run_batches(p,
	    &(struct ask_part){ "late_starts", STMT_DUE_STARTS,
		PLAN_DUE_START },
	    &p->starts_from);
}

void
ask_idle(struct pass *p)
{
	run_batches(p,
	    &(struct ask_part){ "idle", STMT_DUE_WARM, PLAN_DUE_IDLE },
	    &p->idle_from);
}

void
ask_stuck(struct pass *p)
{
	run_batches(p,
	    &(struct ask_part){ "stuck", STMT_DUE_ASKS, PLAN_DUE_ASK },
	    &p->stuck_from);
}
