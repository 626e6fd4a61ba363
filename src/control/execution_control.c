/* execution_control.c: has executions run in sessions, and takes results. */
#include "control/execution_control.h"

#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/fault.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "control/execution_give.h"
#include "control/start.h"
#include "control/stop.h"
#include "provider/link/attempt.h"

enum {
	START_MS = 2000, /* to start its session, even if nobody waits */
	ASK_MS = 5000,   /* for an answer that needs no wait */
	LOOK_MS = 1000,  /* the same, if nothing depends on it */
	WAIT_MS = 10000, /* the longest wait of one question */
	CANCEL_MS = 3000,
	FIRST_MS = 200, /* until others see that it runs */
	ROUNDS = 3,     /* lost, given again, asked */
	PAUSE_MS = 100,
	PAUSE_MAX_MS = 1000 /* a client may cancel meanwhile */
};

/* ---- giving */

int
execution_deliver(struct control *ctl, const char *session, int64_t deadline_ms,
    struct err *e)
{
	auto_rows struct rows *ids = NULL;
	struct session_row s;

	if (STORE_RUN(ctl->store, STMT_EXECUTIONS_TO_GIVE, &ids, e, session) <
	    0)
		return -1;
	if (rows_count(ids) == 0)
		return 0;
	if (start_session(ctl, session, "", deadline_ms, e) < 0 ||
	    control_session(ctl, session, "", &s, e) < 0) {
		/* a start that goes on is no failure */
		if (!start_undecided(e) && e->code != CODE_OTHER_HOST &&
		    e->code != CODE_DRAINING)
			for (size_t i = 0; i < rows_count(ids); i++)
				execution_not_given(ctl,
				    rows_text(ids, i, "id"), e);
		return -1;
	}
	if (s.state != SESSION_READY)
		return err_set(e, ERR_BUSY, CODE_SESSION_NOT_READY,
		    "the session is %s", SESSION_STATES[s.state]);
	for (size_t i = 0; i < rows_count(ids); i++)
		if (execution_give(ctl, &s, rows_text(ids, i, "id"), e) < 0)
			return -1;
	return 0;
}

/* ---- asking */

/* Whether this generation can still have the attempt. */
static bool
has_attempt(const struct session_row *s, const struct execution_row *x)
{
	return s->lease == LEASE_OWNS_WRAPPER && s->generation == x->generation;
}

/*
 * The attempt's generation is over, so the attempt is.  If it ended before, the
 * next wrapper knows: execution_give() asks.
 */
static int
note_loss(struct control *ctl, const struct execution_row *x,
    const struct session_row *s, struct err *e)
{
	if (s->lease != LEASE_NONE && s->generation == x->generation)
		return err_set(e, ERR_BUSY, CODE_BUSY,
		    "the session is being stopped");
	return execution_generation_lost(ctl, x, "its wrapper was lost", e);
}

struct pull {
	int64_t offset; /* of wanted output; -1: none */
	int64_t wait_until_ms;
	bool only_look; /* start no session, give nothing */
};

/* Asks the wrapper that has the attempt; one that never got it gets it now. */
static int
ask_wrapper(struct control *ctl, const struct execution_row *x,
    const struct session_row *s, const struct pull *w, struct agent_attempt *a,
    struct execution_rest *rest, struct err *e)
{
	struct agent_target t = control_target(s);
	const int64_t ask_ms = w->only_look ? LOOK_MS : ASK_MS;
	int64_t wait_ms = clock_left_ms(w->wait_until_ms);

	if (wait_ms > WAIT_MS)
		wait_ms = WAIT_MS;
	agent_attempt_free(a);
	/* again: the one who cancelled it may have died before he told it */
	if (x->cancelled &&
	    agent_attempt_cancel(&ctl->provider, &t,
		execution_attempt_id(x).text, clock_ms() + ask_ms, e) < 0)
		return -1;
	if (agent_attempt_ask(&ctl->provider, &t, execution_attempt_id(x).text,
		w->offset, wait_ms, clock_ms() + wait_ms + ask_ms, a, e) < 0)
		return -1;
	if (!a->known)
		return execution_give(ctl, s, x->id, e);
	return execution_told(ctl, x, s, a, rest, e);
}

int
execution_give_and_ask(struct control *ctl, const struct session_row *s,
    const char *id, int64_t wait_until_ms, struct execution_rest *rest,
    struct err *e)
{
	auto_execution struct execution_row x = { 0 };
	auto_attempt struct agent_attempt a = { 0 };
	int64_t soon_ms = clock_ms() + FIRST_MS;
	struct pull w = { .offset = -1,
		.wait_until_ms =
		    wait_until_ms < soon_ms ? wait_until_ms : soon_ms };

	rest->over = false;
	if (wait_until_ms == 0)
		return execution_give(ctl, s, id, e);
	if (execution_row_read(ctl, id, &x, e) < 0 ||
	    execution_give_row(ctl, s, &x, e) < 0)
		return -1;
	/* most are short: their end is recorded with their beginning */
	return x.limits_by == NULL ? 0
				   : ask_wrapper(ctl, &x, s, &w, &a, rest, e);
}

/* The output of an execution that has ended, if its session can be asked. */
static int
read_ended(struct control *ctl, const struct execution_row *x, int64_t offset,
    struct agent_attempt *a, struct err *e)
{
	struct session_row s;
	struct agent_target t;

	if (control_session(ctl, x->session, "", &s, e) < 0 ||
	    s.state != SESSION_READY || !control_is_here(ctl, &s) ||
	    x->attempt == 0)
		return 0;
	t = control_target(&s);
	return agent_attempt_ask(&ctl->provider, &t,
	    execution_attempt_id(x).text, offset, 0, clock_ms() + ASK_MS, a, e);
}

static void
pause_ms(int64_t ms, int64_t until_ms)
{
	int64_t left = clock_left_ms(until_ms);

	if (ms > left)
		ms = left;
	nanosleep(&(struct timespec){ .tv_sec = ms / 1000,
		      .tv_nsec = ms % 1000 * 1000000 },
	    NULL);
}

static int64_t
start_until(int64_t wait_until_ms)
{
	int64_t at_least = clock_ms() + START_MS;

	return wait_until_ms > at_least ? wait_until_ms : at_least;
}

/*
 * One step towards the end of an execution.  *over: it has ended, or nothing
 * more can be done now.
 */
static int
step(struct control *ctl, const char *id, const struct pull *w,
    struct agent_attempt *a, bool *over, struct err *e)
{
	auto_execution struct execution_row x = { 0 };
	struct execution_rest rest = { 0 };
	struct session_row s;

	*over = false;
	if (execution_row_read(ctl, id, &x, e) < 0)
		return -1;
	if (x.over || (!x.given && w->only_look)) {
		*over = true;
		return x.over && w->offset >= 0
		    ? read_ended(ctl, &x, w->offset, a, e)
		    : 0;
	}
	if (!x.given && x.due_ms > 0) {
		pause_ms(x.due_ms < PAUSE_MAX_MS ? x.due_ms : PAUSE_MAX_MS,
		    w->wait_until_ms);
		return 0;
	}
	if (!x.given)
		return execution_deliver(ctl, x.session,
		    start_until(w->wait_until_ms), e);
	if (control_session(ctl, x.session, "", &s, e) < 0 ||
	    control_must_be_here(ctl, &s, e) < 0)
		return -1;
	/* a frozen wrapper cannot answer, and nothing goes on in it */
	if (s.suspended) {
		*over = true;
		return 0;
	}
	if (!has_attempt(&s, &x))
		return note_loss(ctl, &x, &s, e);
	if (ask_wrapper(ctl, &x, &s, w, a, &rest, e) == 0) {
		execution_tidy(ctl, &rest);
		*over = a->known &&
		    ((a->state == AGENT_ATTEMPT_ENDED &&
			 !execution_attempt_lost(a)) ||
			w->offset >= 0 || clock_left_ms(w->wait_until_ms) == 0);
		return 0;
	}
	/* a wrapper that does not answer may be dead: the start looks */
	if (e->kind != ERR_UNAVAILABLE || w->only_look)
		return -1;
	return start_session(ctl, x.session, "", start_until(0), e);
}

static int
pull(struct control *ctl, const char *id, const struct pull *w,
    struct agent_attempt *out, struct err *e)
{
	bool over = false;
	int rounds = 0;

	*out = (struct agent_attempt){ 0 };
	while (!over &&
	    (rounds++ < ROUNDS || clock_left_ms(w->wait_until_ms) > 0)) {
		/* a wrapper lets only a few wait, and answers others at once */
		if (rounds > ROUNDS)
			pause_ms(PAUSE_MS, w->wait_until_ms);
		if (step(ctl, id, w, out, &over, e) < 0 &&
		    (e->kind != ERR_BUSY ||
			clock_left_ms(w->wait_until_ms) == 0))
			return -1;
	}
	return 0;
}

int
execution_read(struct control *ctl, const char *id, int64_t offset,
    int64_t wait_until_ms, struct agent_attempt *out, struct err *e)
{
	return pull(ctl, id,
	    &(struct pull){ .offset = offset,
		.wait_until_ms = wait_until_ms,
		.only_look = wait_until_ms == 0 },
	    out, e);
}

int
execution_pull(struct control *ctl, const char *id, int64_t wait_until_ms,
    struct err *e)
{
	auto_attempt struct agent_attempt a = { 0 };

	return execution_read(ctl, id, -1, wait_until_ms, &a, e);
}

int
execution_look(struct control *ctl, const char *id, struct err *e)
{
	auto_attempt struct agent_attempt a = { 0 };

	return pull(ctl, id, &(struct pull){ .offset = -1, .only_look = true },
	    &a, e);
}

/* ---- ending */

int
execution_end_overdue(struct control *ctl, const char *id, struct err *e)
{
	auto_execution struct execution_row x = { 0 };
	struct session_row s;

	if (execution_row_read(ctl, id, &x, e) < 0)
		return -1;
	if (x.over || !x.given)
		return 0;
	/* first the processes: what is told must have been seen */
	if (stop_request(ctl, x.session, STOP_SLEEP, "unhealthy-wrapper", NULL,
		-1, e) < 0)
		return -1;
	CRASH_POINT("execution.overdue");
	if (stop_attempt(ctl, x.session, e) < 0 ||
	    control_session(ctl, x.session, "", &s, e) < 0)
		return -1;
	if (s.lease != LEASE_NONE)
		return err_set(e, ERR_BUSY, CODE_BUSY,
		    "the session is being stopped");
	return execution_overdue(ctl, &x, e);
}

/* Records that it is to end.  *running: its wrapper must be told. */
static int
record_cancel(struct control *ctl, const char *id, const char *why,
    bool *running, struct err *e)
{
	auto_rows struct rows *r = NULL;
	auto_free char *spec = control_spec_text(json_pack("{s:s*, s:s, s:s*}",
	    "actor", control_actor(ctl), "trace", ctl->trace, "why", why));

	if (STORE_RUN(ctl->store, STMT_EXECUTION_CANCEL, &r, e, id, spec) < 0)
		return -1;
	CRASH_POINT("execution.cancel");
	*running = rows_bool(r, 0, "running");
	return 0;
}

int
execution_cancel(struct control *ctl, const char *id, struct err *e)
{
	bool running;

	if (record_cancel(ctl, id, NULL, &running, e) < 0)
		return -1;
	return running ? execution_pull(ctl, id, clock_ms() + CANCEL_MS, e) : 0;
}

/* Has those end that have not; a wrapper that once does not answer is left. */
static int
end_given(struct control *ctl, const struct rows *ids, const char *why,
    struct err *e)
{
	struct pull w = { .offset = -1, .only_look = true };
	bool ignored;

	/* the last first: the end of one lets the next begin */
	for (size_t i = rows_count(ids); i-- > 0;)
		if (record_cancel(ctl, rows_text(ids, i, "id"), why, &ignored,
			e) < 0 ||
		    execution_look(ctl, rows_text(ids, i, "id"), e) < 0)
			return -1;
	w.wait_until_ms = clock_ms() + CANCEL_MS;
	for (size_t i = 0; i < rows_count(ids); i++) {
		auto_attempt struct agent_attempt a = { 0 };

		if (pull(ctl, rows_text(ids, i, "id"), &w, &a, e) < 0)
			return -1;
	}
	return 0;
}

/* Takes what has ended; *left: the ids of those that have not. */
static int
take_ended(struct control *ctl, const char *session, struct rows **left,
    struct err *e)
{
	auto_rows struct rows *ids = NULL;

	if (STORE_RUN(ctl->store, STMT_EXECUTIONS_GIVEN, &ids, e, session) < 0)
		return -1;
	for (size_t i = 0; i < rows_count(ids); i++)
		if (execution_look(ctl, rows_text(ids, i, "id"), e) < 0)
			return -1;
	return STORE_RUN(ctl->store, STMT_EXECUTIONS_GIVEN, left, e, session);
}

void
execution_settle(struct control *ctl, const char *session, const char *why)
{
	auto_rows struct rows *left = NULL;
	struct err e = { 0 };

	if (take_ended(ctl, session, &left, &e) < 0 ||
	    end_given(ctl, left, why, &e) < 0)
		log_err(LOG_WARN, "execution", &e);
}
