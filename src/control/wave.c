/* wave.c: stops several sessions side by side. */
#include "control/wave.h"

#include <stdlib.h>

#include "common/clock.h"
#include "common/fault.h"
#include "common/id.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "control/discover.h"
#include "control/sandbox_control.h"
#include "provider/link/link.h"

enum { KILL_WAIT_MS = 5000, TERM_MS = 2000 };

void
wave_free(struct wave **w)
{
	if (*w != NULL)
		free((*w)->asks);
	free(*w);
	*w = NULL;
}

/* ---- claiming */

static void
read_row(const struct rows *r, size_t row, struct wave_stop *s)
{
	const struct agent_target t = row_target(r, row);
	struct session_row *to = &s->s;

	str_copy(to->id, sizeof(to->id), t.session);
	str_copy(to->instance, sizeof(to->instance), t.instance);
	str_copy(to->sandbox.id, sizeof(to->sandbox.id), t.sandbox);
	str_copy(to->sandbox.incarnation, sizeof(to->sandbox.incarnation),
	    t.incarnation);
	to->generation = t.generation;
	str_copy(to->host, sizeof(to->host), rows_text(r, row, "host"));
	str_copy(to->boot_id, sizeof(to->boot_id),
	    rows_text(r, row, "boot_id"));
	to->state = state_session_parse(rows_text(r, row, "state"));
	to->lease = LEASE_STOPPING;
	to->sandbox_state =
	    state_sandbox_parse(rows_text(r, row, "sandbox_state"));
	s->located = !rows_null(r, row, "sandbox_state");
	s->ask->end.reason = to->state == SESSION_SLEEPING ? "session_slept"
	    : to->state == SESSION_DELETING                ? "session_deleted"
							   : "session_ended";
	str_copy(s->ask->end.cause, sizeof(s->ask->end.cause),
	    rows_text(r, row, "reason"));
}

static struct wave *
new_wave(json_t *spec, struct control *ctl)
{
	struct wave *w = xcalloc(1, sizeof(*w));

	w->asks = xcalloc(WAVE_MAX, sizeof(*w->asks));
	for (size_t i = 0; i < WAVE_MAX; i++)
		w->stop[i].ask = &w->asks[i];
	id_random(w->attempt, ID_INSTANCE_LEN);
	json_object_update_new(spec,
	    json_pack("{s:s, s:I, s:s, s:s*}", "attempt", w->attempt, "seconds",
		(json_int_t)ctl->conf->stop_watchdog_seconds, "trace",
		ctl->trace, "actor", control_actor(ctl)));
	return w;
}

static void
read_claimed(struct wave *w, const struct rows *r)
{
	for (; w->count < rows_count(r) && w->count < WAVE_MAX; w->count++)
		read_row(r, w->count, &w->stop[w->count]);
}

int
wave_claim(struct control *ctl, const struct wave_options *options,
    struct wave **out, struct err *e)
{
	json_t *spec = json_pack("{s:b, s:I, s:s}", "retries", options->retries,
	    "limit",
	    (json_int_t)(options->limit < WAVE_MAX ? options->limit : WAVE_MAX),
	    "host", ctl->conf->host_name);
	auto_rows struct rows *r = NULL;
	auto_free char *text = NULL;

	if (options->skip != NULL)
		json_object_set_new(spec, "skip",
		    json_deep_copy(options->skip));
	*out = new_wave(spec, ctl);
	text = control_spec_text(spec);
	if (STORE_RUN(ctl->store, STMT_STOP_CLAIM, &r, e, text) < 0)
		return -1;
	CRASH_POINT("wave.claimed");
	read_claimed(*out, r);
	return 0;
}

int
wave_claim_one(struct control *ctl, const char *session, struct wave **out,
    struct err *e)
{
	json_t *spec = json_pack("{s:s}", "host", ctl->conf->host_name);
	auto_rows struct rows *r = NULL;
	auto_free char *text = NULL;

	*out = new_wave(spec, ctl);
	text = control_spec_text(spec);
	if (STORE_RUN(ctl->store, STMT_STOP_BEGIN, &r, e, session, text) < 0)
		return -1;
	CRASH_POINT("stop.claimed");
	read_claimed(*out, r);
	return 0;
}

/* ---- looking and stopping */

static bool
is_here(const struct control *ctl, const struct session_row *s)
{
	return str_equal(s->host, ctl->conf->host_name) &&
	    str_equal(s->boot_id, ctl->provider.boot_id);
}

/* Questions that are sent to inits together. */
struct ask_list {
	struct agent_one *who[WAVE_MAX];
	size_t count;
};

/*
 * Chooses whom to ask: with `there` the stops of which something was seen, else
 * all that are on this host.
 */
static struct ask_list
choose_asked(const struct control *ctl, struct wave *w, bool there)
{
	struct ask_list c = { .count = 0 };

	for (size_t i = 0; i < w->count; i++) {
		struct wave_stop *s = &w->stop[i];

		if (there ? s->ask->answered && s->ask->found.count > 0
			  : s->located && is_here(ctl, &s->s))
			c.who[c.count++] = s->ask;
	}
	return c;
}

/*
 * Finds out where to look.  A row from before sandbox ids gets its id first.  A
 * lease whose sandbox is not known is kept.
 */
static void
locate(struct control *ctl, struct wave_stop *s)
{
	if (s->s.sandbox.id[0] == '\0' && s->s.state != SESSION_UNKNOWN) {
		char id[ID_MAX];

		str_copy(id, sizeof(id), s->s.id);
		s->located = control_session(ctl, id, "", &s->s, &s->why) == 0;
	}
	if (s->located && sandbox_id_check(s->s.sandbox.id, &s->why) < 0)
		s->located = false;
	if (!s->located && s->why.kind == ERR_NONE)
		err_set(&s->why, ERR_UNAVAILABLE, CODE_NO_SANDBOX,
		    "it is not known which sandbox to look in");
	s->ask->target = control_target(&s->s);
}

/*
 * Looks without init, which does not answer.  If nothing runs, the incarnation
 * is ended in the host's record.  Else a worker that was paused in mid-start
 * could start it after this absence was recorded.
 */
static int
look_without_init(struct control *ctl, struct wave_stop *s)
{
	size_t siblings;

	/* a start that was cut off half way: nothing was launched in it */
	if (!discover_sandbox_down(ctl, &s->s, &s->why) &&
	    !discover_never_answered(ctl, &s->s))
		return -1;
	CRASH_POINT("stop.down");
	if (discover_row_runs(&s->s) &&
	    sandbox_control_gone(ctl, s->s.sandbox.id, s->s.sandbox.incarnation,
		&siblings, &s->why) < 0)
		return -1;
	s->absent = true;
	s->why = (struct err){ 0 }; /* success: drop the error */
	return 0;
}

/*
 * Asks again after init did not answer the seal.  Takes the sandbox's lock and
 * so waits for a start that is under way; then init may listen after all.
 */
static void
look_again(struct control *ctl, struct wave_stop *s, int64_t deadline)
{
	struct agent_one *one = s->ask;

	s->timed_out = one->e.code == CODE_TIMED_OUT;
	if (control_lock(ctl, s->s.sandbox.id, &s->why) < 0)
		return;
	CRASH_POINT("stop.locked");
	if (one->e.code == CODE_NOT_LISTENING)
		agent_ask_all(&ctl->provider, AGENT_SEAL, 0, deadline, &one, 1);
	if (!one->answered)
		(void)!look_without_init(ctl, s);
	control_unlock(ctl, s->s.sandbox.id);
}

static void
seal_all(struct control *ctl, struct wave *w)
{
	int64_t deadline = clock_ms() + ctl->conf->discovery_seconds * 1000;
	struct ask_list here;

	for (size_t i = 0; i < w->count; i++)
		locate(ctl, &w->stop[i]);
	here = choose_asked(ctl, w, false);
	agent_ask_all(&ctl->provider, AGENT_SEAL, 0, deadline, here.who,
	    here.count);
	for (size_t i = 0; i < w->count; i++)
		if (w->stop[i].located && !w->stop[i].ask->answered)
			look_again(ctl, &w->stop[i], deadline);
}

static int64_t
latest_seen(const struct agent_wrappers *s)
{
	int64_t latest = 0;

	for (size_t i = 0; i < s->count; i++)
		if (s->wrapper[i].generation > latest)
			latest = s->wrapper[i].generation;
	return latest;
}

/* Whether the answer has a row for the session; *row: which. */
static bool
find_answer(const struct rows *r, const struct wave_stop *s, size_t *row)
{
	for (*row = 0; *row < rows_count(r); ++*row)
		if (str_equal(rows_text(r, *row, "session_id"), s->s.id))
			return true;
	return false;
}

static json_t *
later_generations(const struct wave *w)
{
	json_t *list = json_array();

	for (size_t i = 0; i < w->count; i++) {
		const struct wave_stop *s = &w->stop[i];
		int64_t seen =
		    s->ask->answered ? latest_seen(&s->ask->found) : 0;

		if (seen > s->s.generation)
			json_array_append_new(list,
			    json_pack("{s:s, s:I}", "session", s->s.id,
				"generation", (json_int_t)seen));
	}
	return list;
}

/*
 * A wrapper that runs may have a later generation than its row has here.
 * Either the row is too old, or this process is late and another one has its
 * attempt.  The row decides.  If it is not raised, nothing is ended, because
 * init refuses an order that is meant for an earlier generation.
 */
static void
raise_rows(struct control *ctl, struct wave *w)
{
	json_t *seen = later_generations(w);
	auto_rows struct rows *r = NULL;
	auto_free char *spec = NULL;
	struct err e = { 0 };

	if (json_array_size(seen) == 0) {
		json_decref(seen);
		return;
	}
	spec = control_spec_text(
	    json_pack("{s:s, s:o}", "attempt", w->attempt, "seen", seen));
	if (STORE_RUN(ctl->store, STMT_STOP_RAISE, &r, &e, spec) < 0) {
		log_err(LOG_WARN, "stop_raise", &e);
		return;
	}
	CRASH_POINT("stop.raised");
	for (size_t i = 0; i < w->count; i++) {
		struct wave_stop *s = &w->stop[i];
		struct agent_one *one = s->ask;
		size_t row;

		if (!find_answer(r, s, &row))
			continue;
		s->s.generation = latest_seen(&one->found);
		one->target.generation = s->s.generation;
		agent_ask_all(&ctl->provider, AGENT_SEAL, 0,
		    clock_ms() + ctl->conf->discovery_seconds * 1000, &one, 1);
	}
}

/*
 * Decides whether the session is absent.  Both sources must agree: init has
 * reaped the cell, and its cgroup is empty.
 */
static void
conclude(struct control *ctl, struct wave_stop *s)
{
	const struct agent_target *t = &s->ask->target;

	if (s->absent || s->why.kind != ERR_NONE)
		return;
	if (!s->ask->answered) {
		s->why = s->ask->e;
		s->timed_out = s->why.code == CODE_TIMED_OUT;
		return;
	}
	if (s->ask->found.count == 0 &&
	    ctl->provider.ops->cell_gone(&ctl->provider, t->sandbox, t->session,
		&s->absent, &s->why) < 0) {
		s->absent = false;
		return;
	}
	if (!s->absent)
		err_set(&s->why, ERR_UNAVAILABLE, CODE_STILL_THERE,
		    "the session's processes are still there");
}

/*
 * The time that commands have to end by themselves.  It is shorter than our own
 * wait: the wrapper must end the rest and answer its clients before we kill it.
 */
static int64_t
command_grace_ms(const struct conf_list *looks)
{
	return looks->count > 0 ? looks->at[looks->count - 1] * 3 / 4 : 0;
}

static void
stop_all(struct control *ctl, struct wave *w)
{
	const struct provider *p = &ctl->provider;
	const struct conf_list *looks = &ctl->conf->stop_looks_ms;
	struct ask_list there;
	int64_t began;

	seal_all(ctl, w);
	CRASH_POINT("stop.sealed");
	raise_rows(ctl, w);
	there = choose_asked(ctl, w, true);
	for (size_t i = 0; i < there.count; i++)
		there.who[i]->end.grace_ms = command_grace_ms(looks);
	agent_ask_all(p, AGENT_TERM, 0, clock_ms() + TERM_MS, there.who,
	    there.count);
	CRASH_POINT("stop.asked");
	began = clock_ms();
	for (size_t i = 0; i < looks->count; i++) {
		int wait = clock_left_ms(began + looks->at[i]);

		there = choose_asked(ctl, w, true);
		if (there.count == 0)
			break;
		agent_ask_all(p, AGENT_LOOK, wait, clock_ms() + wait + TERM_MS,
		    there.who, there.count);
	}
	there = choose_asked(ctl, w, true);
	agent_ask_all(p, AGENT_KILL, KILL_WAIT_MS,
	    clock_ms() + 2 * KILL_WAIT_MS, there.who, there.count);
	CRASH_POINT("stop.killed");
	for (size_t i = 0; i < w->count; i++)
		conclude(ctl, &w->stop[i]);
}

/* ---- outcomes */

json_t *
wave_retry(const struct control *ctl)
{
	const struct conf_list *seconds = &ctl->conf->stop_retry_seconds;
	json_t *list = json_array();

	for (size_t i = 0; i < seconds->count; i++)
		json_array_append_new(list, json_integer(seconds->at[i]));
	return list;
}

static int
record_range(struct control *ctl, struct wave *w, size_t from, size_t count,
    struct err *e)
{
	json_t *list = json_array();
	auto_rows struct rows *r = NULL;
	auto_free char *spec = NULL;

	for (size_t i = from; i < from + count; i++) {
		const struct wave_stop *s = &w->stop[i];

		json_array_append_new(list,
		    json_pack("{s:s, s:b, s:s}", "session", s->s.id, "absent",
			s->absent, "error", err_told(&s->why)));
	}
	spec = control_spec_text(json_pack("{s:o, s:o, s:s, s:s, s:s*}",
	    "outcomes", list, "retry", wave_retry(ctl), "attempt", w->attempt,
	    "trace", ctl->trace, "actor", control_actor(ctl)));
	if (STORE_RUN(ctl->store, STMT_STOP_OUTCOMES, &r, e, spec) < 0)
		return -1;
	for (size_t i = from; i < from + count; i++) {
		size_t row;

		if (find_answer(r, &w->stop[i], &row))
			w->stop[i].state =
			    state_session_parse(rows_text(r, row, "state"));
	}
	return 0;
}

/* Records all outcomes at once.  If that fails, it tries them one by one. */
static int
record_outcomes(struct control *ctl, struct wave *w, struct err *e)
{
	int rc = 0;

	if (record_range(ctl, w, 0, w->count, e) == 0)
		return 0;
	if (w->count == 1)
		return -1;
	for (size_t i = 0; i < w->count; i++)
		if (record_range(ctl, w, i, 1, e) < 0)
			rc = -1;
	return rc;
}

static void
remove_sockets(struct control *ctl, const struct wave *w)
{
	struct agent_life lives[WAVE_MAX];
	size_t n = 0;

	for (size_t i = 0; i < w->count; i++) {
		if (!w->stop[i].absent)
			continue;
		str_copy(lives[n].session, sizeof(lives[n].session),
		    w->stop[i].s.id);
		lives[n++].generation = w->stop[i].s.generation;
	}
	agent_unlink_sockets_of(ctl->conf, lives, n);
}

/*
 * Stops the sandboxes that belong to one session: they have no use while it
 * sleeps.
 */
static void
stop_own_sandboxes(struct control *ctl, const struct wave *w)
{
	struct sandbox_end ends[WAVE_MAX] = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < w->count; i++) {
		const struct wave_stop *s = &w->stop[i];

		if (!s->absent || !control_is_here(ctl, &s->s) ||
		    s->state == SESSION_DELETING ||
		    !sandbox_id_is_isolated(s->s.sandbox.id))
			continue;
		ends[n].id = s->s.sandbox.id;
		ends[n++].incarnation = s->s.sandbox.incarnation;
	}
	sandbox_control_retire_all(ctl, ends, n, false);
	for (size_t i = 0; i < n; i++)
		if (ends[i].why.kind != ERR_NONE) /* the reaper tries again */
			log_err(LOG_WARN, "sandbox_stop", &ends[i].why);
}

int
wave_run(struct control *ctl, struct wave *w, struct err *e)
{
	int rc;

	if (w->count == 0)
		return 0;
	stop_all(ctl, w);
	CRASH_POINT("stop.looked");
	remove_sockets(ctl, w);
	CRASH_POINT("stop.cleared");
	rc = record_outcomes(ctl, w, e);
	CRASH_POINT("stop.ended");
	for (size_t i = 0; i < w->count; i++) {
		struct err why = w->stop[i].why;

		if (w->stop[i].absent)
			continue;
		err_wrap(&why, "session %s", w->stop[i].s.id);
		log_err(LOG_WARN, "stop_not_confirmed", &why);
	}
	stop_own_sandboxes(ctl, w);
	return rc;
}
