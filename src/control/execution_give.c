/* execution_give.c: gives an execution to the wrapper of its session. */
#include "control/execution_give.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/fault.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "control/execution_control.h"
#include "control/execution_keep.h"
#include "domain/limits.h"
#include "provider/link/attempt.h"

enum { PUT_MS = 10000, ASK_MS = 5000, REMOVE_MS = 200, NUMBER_MAX = 24 };

#define CANNOT_RUN                                                             \
	"the session runs an agent of an older release: put it to sleep once to update it"

/* ---- rows */

void
execution_row_free(struct execution_row *x)
{
	mem_free_ptr(&x->work_sealed);
	json_release(&x->limits);
	json_release(&x->limits_by);
}

int
execution_not_found(struct err *e)
{
	return err_set(e, ERR_NOT_FOUND, CODE_EXECUTION_NOT_FOUND,
	    "there is no such execution");
}

int
execution_row_read(struct control *ctl, const char *id,
    struct execution_row *out, struct err *e)
{
	auto_rows struct rows *r = NULL;

	*out = (struct execution_row){ 0 };
	if (STORE_RUN(ctl->store, STMT_EXECUTION_ROW, &r, e, id) < 0)
		return -1;
	if (rows_count(r) == 0)
		return execution_not_found(e);
	str_copy(out->id, sizeof(out->id), id);
	str_copy(out->session, sizeof(out->session),
	    rows_text(r, 0, "session_id"));
	str_copy(out->tenant, sizeof(out->tenant), rows_text(r, 0, "tenant"));
	out->over = rows_bool(r, 0, "over");
	out->running = str_equal(rows_text(r, 0, "state"), "running");
	out->given = rows_bool(r, 0, "given");
	out->cancelled = rows_bool(r, 0, "cancelled");
	out->due_ms = rows_int(r, 0, "due_ms");
	out->attempt = rows_int(r, 0, "attempt");
	out->generation = rows_int(r, 0, "generation");
	out->max_retries = rows_int(r, 0, "max_retries");
	out->concurrency = rows_int(r, 0, "concurrency");
	out->work_sealed = xstrdup(rows_text(r, 0, "work_sealed"));
	return rows_json(r, 0, "limits", &out->limits, e);
}

struct attempt_id
execution_attempt_id(const struct execution_row *x)
{
	struct attempt_id out;

	snprintf(out.text, sizeof(out.text), "%s.%d", x->id, (int)x->attempt);
	return out;
}

static void
set_run(struct run_spec *r, const struct session_row *s, const char *attempt)
{
	str_copy(r->sandbox, sizeof(r->sandbox), s->sandbox.id);
	str_copy(r->session, sizeof(r->session), s->id);
	str_copy(r->run, sizeof(r->run), attempt);
}

/* ---- outcomes */

static int
record_told(struct control *ctl, const struct execution_row *x, json_t *told,
    struct err *e)
{
	auto_free char *text = control_spec_text(told);
	char attempt[NUMBER_MAX];

	snprintf(attempt, sizeof(attempt), "%" PRId64, x->attempt);
	return STORE_RUN(ctl->store, STMT_EXECUTION_TOLD, NULL, e, x->id,
	    attempt, text);
}

/* The names of the API for what the agent counts. */
static json_t *
usage_json(const json_t *said)
{
	static const struct {
		const char *said, *name;
		int64_t part;
	} NAMES[] = {
		{ "cpuUserUs", "cpuUserMs", 1000 },
		{ "cpuSystemUs", "cpuSystemMs", 1000 },
		{ "memoryPeak", "memoryPeakBytes", 1 },
		{ "wallMs", "wallMs", 1 },
		{ "written", "writtenBytes", 1 },
		{ "diskGrowth", "diskGrowthBytes", 1 },
	};
	json_t *out = json_object();

	for (size_t i = 0; i < ARRAY_LEN(NAMES); i++) {
		const json_t *n = json_object_get(said, NAMES[i].said);

		if (n != NULL)
			json_object_set_new(out, NAMES[i].name,
			    json_integer(
				json_integer_value(n) / NAMES[i].part));
	}
	return out;
}

void
execution_tidy(struct control *ctl, const struct execution_rest *rest)
{
	const struct provider *p = &ctl->provider;
	struct run_spec r = { 0 };
	struct err e = { 0 };

	if (!rest->over)
		return;
	execution_keep_end(ctl, &rest->session, rest->attempt);
	set_run(&r, &rest->session, rest->attempt);
	/* the groups of the cell are removed with all below them */
	if (p->ops->run_remove(p, &r, clock_ms() + REMOVE_MS, &e) < 0)
		log_err(LOG_WARN, "run_remove", &e);
}

static json_t *
ago_json(int64_t ms)
{
	return ms < 0 ? NULL : json_integer(ms);
}

/* One that was cancelled before it began has none. */
static json_t *
exit_code_json(const struct agent_attempt *a)
{
	return a->began_ago_ms < 0 ? json_null() : json_integer(a->exit_code);
}

bool
execution_attempt_lost(const struct agent_attempt *a)
{
	return a->state == AGENT_ATTEMPT_ENDED && str_equal(a->reason, "lost");
}

int
execution_told(struct control *ctl, const struct execution_row *x,
    const struct session_row *s, const struct agent_attempt *a,
    struct execution_rest *rest, struct err *e)
{
	struct attempt_id id = execution_attempt_id(x);
	json_t *told;

	if (x->limits_by == NULL &&
	    (a->state == AGENT_ATTEMPT_QUEUED ||
		(a->state == AGENT_ATTEMPT_RUNNING && x->running)))
		return 0; /* as the row says */
	if (a->state != AGENT_ATTEMPT_ENDED)
		return record_told(ctl, x,
		    json_pack("{s:o*, s:o*, s:O*}", "running",
			a->state == AGENT_ATTEMPT_RUNNING ? json_true() : NULL,
			"beganAgoMs", ago_json(a->began_ago_ms), "limitsBy",
			x->limits_by),
		    e);
	if (execution_attempt_lost(a)) /* no result: nothing of it is kept */
		return record_told(ctl, x,
		    json_pack("{s:s, s:o*}", "end", "lost", "reason",
			str_empty(a->message) ? NULL : json_lossy(a->message)),
		    e);
	told = json_pack(
	    "{s:s, s:o, s:o, s:o, s:o, s:o*, s:O*, s:O*, s:o*, s:o*}", "end",
	    a->reason, "exitCode", exit_code_json(a), "signal",
	    a->signal > 0 ? json_integer(a->signal) : json_null(), "stderrTail",
	    json_bytes(a->tail, strlen(a->tail)), "usage", usage_json(a->usage),
	    "reason", str_empty(a->message) ? NULL : json_lossy(a->message),
	    "limitsBy", x->limits_by, "keys", a->keys, "beganAgoMs",
	    ago_json(a->began_ago_ms), "endedAgoMs", ago_json(a->ended_ago_ms));
	/* first: with the end, its session may be deleted */
	execution_keep(ctl, s, id.text, a, told);
	CRASH_POINT("execution.kept");
	if (record_told(ctl, x, told, e) < 0)
		return -1;
	CRASH_POINT("execution.told");
	*rest = (struct execution_rest){ .over = true, .session = *s };
	str_copy(rest->attempt, sizeof(rest->attempt), id.text);
	return 0;
}

int
execution_overdue(struct control *ctl, const struct execution_row *x,
    struct err *e)
{
	return record_told(ctl, x,
	    json_pack("{s:s, s:i, s:i, s:s, s:{}, s:s}", "end", "timed_out",
		"exitCode", 128 + SIGKILL, "signal", SIGKILL, "stderrTail", "",
		"usage", "reason",
		"its wrapper did not answer, and was ended with it"),
	    e);
}

int
execution_lost(struct control *ctl, const struct execution_row *x,
    const char *why, bool last, struct err *e)
{
	char attempt[NUMBER_MAX];

	snprintf(attempt, sizeof(attempt), "%" PRId64, x->attempt);
	return STORE_RUN(ctl->store, STMT_EXECUTION_LOST, NULL, e, x->id,
	    attempt, why, last ? "true" : "false");
}

int
execution_generation_lost(struct control *ctl, const struct execution_row *x,
    const char *why, struct err *e)
{
	char generation[NUMBER_MAX];

	snprintf(generation, sizeof(generation), "%" PRId64, x->generation);
	return STORE_RUN(ctl->store, STMT_EXECUTIONS_LOST, NULL, e, x->session,
	    generation, why);
}

/* Errors that another attempt, later, may not meet. */
static bool
is_infrastructure(const struct err *e)
{
	return e->kind == ERR_UNAVAILABLE || e->kind == ERR_BUSY ||
	    e->kind == ERR_LIMITED || e->kind == ERR_NO_SPACE ||
	    e->kind == ERR_INTERNAL || e->kind == ERR_BAD_GATEWAY;
}

void
execution_not_given(struct control *ctl, const char *id, const struct err *why)
{
	auto_execution struct execution_row x = { 0 };
	char attempt[NUMBER_MAX];
	struct err e = { 0 };
	bool last;

	if (execution_row_read(ctl, id, &x, &e) < 0) {
		log_err(LOG_WARN, "execution", &e);
		return;
	}
	last = !is_infrastructure(why) || x.attempt >= x.max_retries;
	snprintf(attempt, sizeof(attempt), "%" PRId64, x.attempt);
	if (STORE_RUN(ctl->store, STMT_EXECUTION_NOT_GIVEN, NULL, &e, id,
		attempt, err_told(why), last ? "true" : "false") < 0)
		log_err(LOG_WARN, "execution", &e);
}

/* ---- putting it */

/* {"memoryMb": "cgroup", ...}: what holds each limit. */
static json_t *
limits_by(const struct run_group *g)
{
	const char *cpu =
	    run_group_meter(g, "cpuUserUs") != NULL ? "cgroup" : "watchdog";

	return json_pack("{s:s, s:s, s:s, s:s, s:s}", "memoryMb",
	    g->limits_memory ? "cgroup" : "watchdog", "pids",
	    g->limits_pids ? "cgroup" : "none", "cpuSeconds", cpu,
	    "wallSeconds", "watchdog", "diskMb", "watchdog");
}

static int
work_text(struct control *ctl, const struct execution_row *x, char **out,
    struct err *e)
{
	auto_json json_t *work = NULL;

	if (control_unseal(ctl, x->id, "work", x->work_sealed, &work, e) < 0)
		return -1;
	if (work == NULL)
		return err_set(e, ERR_CONFLICT, CODE_ENDED,
		    "the execution has ended");
	json_object_set(work, "limits", x->limits);
	json_object_set_new(json_object_get(work, "env"),
	    "SANDLEASE_EXECUTION_ID", json_string(x->id));
	json_object_set_new(work, "collectBytes",
	    json_integer(ctl->conf->artifact_mb << 20));
	json_object_set_new(work, "concurrency",
	    json_integer(x->concurrency > 0 ? x->concurrency : 1));
	*out = json_text(work);
	return 0;
}

static int
put_attempt(struct control *ctl, struct execution_row *x,
    const struct session_row *s, bool *runs, struct err *e)
{
	const struct provider *p = &ctl->provider;
	struct agent_target t = control_target(s);
	struct run_spec run = { .memory_mb = json_integer_value(
				    json_object_get(x->limits, "memoryMb")),
		.pids =
		    json_integer_value(json_object_get(x->limits, "pids")) };
	auto_run_group struct run_group g = { 0 };
	auto_free char *work = NULL;

	set_run(&run, s, execution_attempt_id(x).text);
	if (work_text(ctl, x, &work, e) < 0 ||
	    p->ops->run_open(p, &run, &g, e) < 0)
		return -1;
	CRASH_POINT("execution.group");
	if (agent_attempt_put(p, &t, run.run, work, &g, clock_ms() + PUT_MS,
		runs, e) < 0)
		return -1;
	CRASH_POINT("execution.put");
	json_release(&x->limits_by);
	x->limits_by = limits_by(&g);
	return 0;
}

/* Whether another try, now or with the next attempt, may succeed. */
static bool
may_pass(const struct err *e)
{
	return e->kind == ERR_UNAVAILABLE || e->kind == ERR_BUSY ||
	    e->kind == ERR_CONFLICT || e->kind == ERR_LIMITED ||
	    e->kind == ERR_NO_SPACE;
}

/*
 * An attempt that was lost may have ended, and its wrapper died before anyone
 * asked: the next wrapper has it in its journal.  *over: it is so.
 */
static int
ask_journal(struct control *ctl, const struct execution_row *x,
    const struct session_row *s, bool *over, struct err *e)
{
	auto_attempt struct agent_attempt a = { 0 };
	struct agent_target t = control_target(s);
	struct execution_rest rest = { 0 };

	*over = false;
	if (x->attempt == 0 || x->given)
		return 0;
	if (agent_attempt_ask(&ctl->provider, &t, execution_attempt_id(x).text,
		-1, 0, clock_ms() + ASK_MS, &a, e) < 0)
		return -1;
	*over = a.known && a.state == AGENT_ATTEMPT_ENDED &&
	    !execution_attempt_lost(&a);
	if (!*over)
		return 0;
	if (execution_told(ctl, x, s, &a, &rest, e) < 0)
		return -1;
	execution_tidy(ctl, &rest);
	return 0;
}

/* Records the intent; *attempt is 0 if the execution is not to be given. */
static int
record_give(struct control *ctl, const char *id, int64_t generation,
    int64_t *attempt, struct err *e)
{
	auto_rows struct rows *r = NULL;
	char number[NUMBER_MAX];

	snprintf(number, sizeof(number), "%" PRId64, generation);
	if (STORE_RUN(ctl->store, STMT_EXECUTION_GIVE, &r, e, id, number) < 0)
		return -1;
	*attempt = rows_count(r) > 0 ? rows_int(r, 0, "attempt") : 0;
	CRASH_POINT("execution.given");
	return 0;
}

static int
give(struct control *ctl, const struct session_row *s, struct execution_row *x,
    bool *runs, struct err *e)
{
	bool over;

	*runs = false;
	if (x->over || (x->given && x->generation != s->generation))
		return 0;
	if (x->cancelled)
		return x->given
		    ? execution_lost(ctl, x, "it was cancelled before it began",
			  true, e)
		    : 0;
	if (ask_journal(ctl, x, s, &over, e) < 0 || over)
		return over ? 0 : -1;
	if (!x->given && x->attempt > x->max_retries)
		return execution_lost(ctl, x,
		    "no attempt is left: each was lost", true, e);
	/* one that is given already is put again, which changes nothing */
	if (!x->given &&
	    record_give(ctl, x->id, s->generation, &x->attempt, e) < 0)
		return -1;
	if (x->attempt == 0 || put_attempt(ctl, x, s, runs, e) == 0)
		return 0;
	if (may_pass(e))
		return -1;
	log_err(LOG_WARN, "execution", e);
	return execution_lost(ctl, x,
	    e->code == CODE_UNKNOWN_OP ? CANNOT_RUN : e->msg, true, e);
}

int
execution_give_row(struct control *ctl, const struct session_row *s,
    struct execution_row *x, struct err *e)
{
	bool ignored;

	return give(ctl, s, x, &ignored, e);
}

int
execution_give(struct control *ctl, const struct session_row *s, const char *id,
    struct err *e)
{
	auto_execution struct execution_row x = { 0 };
	bool runs;

	if (execution_row_read(ctl, id, &x, e) < 0 ||
	    give(ctl, s, &x, &runs, e) < 0)
		return -1;
	if (x.limits_by == NULL)
		return 0;
	return record_told(ctl, &x,
	    json_pack("{s:o*, s:O}", "running", runs ? json_true() : NULL,
		"limitsBy", x.limits_by),
	    e);
}
