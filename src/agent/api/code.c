/* code.c: runs code and streams its output (POST api/execute/code). */
#include <stdio.h>
#include <string.h>

#include "agent/api/request.h"
#include "agent/api/routes.h"
#include "agent/base/lines.h"
#include "agent/code/context.h"
#include "agent/run/activity.h"
#include "agent/run/execution.h"
#include "agent/run/session_end.h"
#include "agent/shell/envset.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/utf8.h"
#include "web/sse.h"

enum {
	BODY_MAX = 8 * 1024 * 1024,
	ERROR_DEPTH = 8 /* nesting of the error that a kernel reports */
};

/* ---- the body */

struct code_options {
	const char *code; /* borrowed from the body */
	char context[64];
	char language[32];
	int64_t timeout_ms; /* 0: no limit */
	const json_t *env;
	struct execution execution;
};

static const struct jfield OPTIONS[] = {
	JFIELD("context_id", struct code_options, context, J_STR, 0, 1, 63,
	    "if absent: the default context of the language"),
	JFIELD("language", struct code_options, language, J_STR, 0, 1, 31,
	    "if no context is named"),
	JFIELD("timeout_ms", struct code_options, timeout_ms, J_INT, 0, 0,
	    SHELL_TIMEOUT_MS_MAX, "interrupts the code after this time"),
	JFIELD("env_vars", struct code_options, env, J_OBJ, 0, 0, ENV_COUNT_MAX,
	    "variables of this run only"),
};

static int
decode_body(struct call *c, json_t **body, struct code_options *w,
    struct err *e)
{
	if (request_body(c, BODY_MAX, body, e) < 0 ||
	    request_text(*body, "code", 0, BODY_MAX, &w->code, e) < 0 ||
	    jfield_decode(*body, OPTIONS, ARRAY_LEN(OPTIONS), J_LENIENT, w, e) <
		0 ||
	    envset_check(w->env, "env_vars", e) < 0)
		return -1;
	return execution_read(c, *body, "execute/code", &w->execution, e);
}

static int
choose_context(struct call *c, const struct code_options *w,
    struct context **out, struct err *e)
{
	enum kernel_language l = kernel_language(w->language);

	if (!str_empty(w->context)) {
		request_context(c, json_pack("{s:s}", "contextId", w->context));
		return context_find(w->context, out, e);
	}
	if (l == KERNEL__MAX)
		return err_field(e, "language",
		    "must be python, javascript or typescript");
	return context_default(l, out, e);
}

/* ---- events */

struct code_stream {
	struct call *call;
	const struct code_options *options;
	const struct context *context;
	struct lines lines[2];
	struct buf text[2]; /* lines that are sent in one event */
	struct buf event;
	int quiet_ms;
	bool open;    /* the event of a result has begun and not ended */
	bool counted; /* by activity_begin(ACTIVITY_STREAMS) */
};

static const char *const STREAM_NAMES[] = { "stdout", "stderr" };

static void
flush_stream(struct code_stream *s)
{
	call_flush(s->call);
	if (s->call->gone && s->counted) {
		/* the stream has ended, but the code still runs */
		s->counted = false;
		activity_end(ACTIVITY_STREAMS);
	}
}

/* Sends the text that was collected since the last time. */
static void
put_text(struct code_stream *s)
{
	for (int i = 0; i < 2; i++) {
		if (s->text[i].len == 0)
			continue;
		s->event.len = 0;
		buf_fmt(&s->event, "data: {\"type\":\"%s\",\"text\":\"",
		    STREAM_NAMES[i]);
		utf8_json_ascii(&s->event, s->text[i].data, s->text[i].len);
		buf_str(&s->event, "\"}\n\n");
		call_write(s->call, s->event.data, s->event.len);
		s->text[i].len = 0;
	}
}

static void
keep_line(void *ctx, const char *text, size_t len)
{
	buf_add(ctx, text, len);
}

/* Sets the time until a part of a line is sent, or else a heartbeat. */
static void
set_quiet(struct code_stream *s)
{
	int left_ms = lines_left_ms(s->lines, 2);

	s->quiet_ms = left_ms >= 0 ? left_ms : SSE_HEARTBEAT_MS;
}

static void
on_output(void *ctx, int which, const char *data, size_t len)
{
	struct code_stream *s = ctx;

	if (s->call->gone)
		return;
	lines_add(&s->lines[which], data, len);
	set_quiet(s);
	put_text(s);
	flush_stream(s);
}

static void
end_text(struct code_stream *s)
{
	lines_end(&s->lines[0]);
	lines_end(&s->lines[1]);
	set_quiet(s);
	put_text(s);
}

/* Nothing came for quiet_ms. */
static void
on_quiet(void *ctx)
{
	struct code_stream *s = ctx;

	if (lines_left_ms(s->lines, 2) >= 0) {
		/* parts of lines have waited long enough */
		lines_flush(&s->lines[0]);
		lines_flush(&s->lines[1]);
		set_quiet(s);
		put_text(s);
	} else if (!s->open) {
		sse_heartbeat(s->call);
	}
	flush_stream(s);
}

static void
on_result(void *ctx, const char *piece, size_t len, bool last)
{
	struct code_stream *s = ctx;

	if (!s->open) {
		end_text(s); /* else text could be sent inside this event */
		call_write(s->call, "data: ", 6);
	}
	s->open = !last;
	call_write(s->call, piece, len);
	if (last) {
		call_write(s->call, "\n\n", 2);
		flush_stream(s);
	}
}

/* ---- the end */

/* Sends the error event of code that was stopped; `what` says why. */
static void
put_stopped(struct code_stream *s, const struct kernel_outcome *o,
    const char *ename, const char *what)
{
	auto_json json_t *told = NULL, *event = NULL;
	json_t *trace;
	struct err ignored;
	char evalue[200];

	snprintf(evalue, sizeof(evalue), "%s; %s", what,
	    o->lost ? "the kernel did not yield and was killed: its state is"
		      " lost, the next call gets a new one"
		    : "the context keeps its state");
	if (o->error.len > 0 &&
	    bigjson_depth_ok(o->error.data, o->error.len, ERROR_DEPTH))
		(void)!json_parse(o->error.data, o->error.len, &told, &ignored);
	trace = json_object_get(told, "traceback");
	event = json_pack("{s:s, s:s, s:s, s:o}", "type", "error", "ename",
	    ename, "evalue", evalue, "traceback",
	    json_is_array(trace) ? json_incref(trace) : json_array());
	sse_event(s->call, event);
}

static void
put_error(struct code_stream *s, const char *ename, const char *evalue)
{
	auto_json json_t *event = json_pack("{s:s, s:s, s:o, s:[]}", "type",
	    "error", "ename", ename, "evalue", json_lossy(evalue), "traceback");

	sse_event(s->call, event);
}

static void
put_died(struct code_stream *s, const struct kernel_outcome *o)
{
	char how[48] = "", evalue[160];

	if (o->exit_code > 128)
		snprintf(how, sizeof(how), "was killed by signal %d",
		    o->exit_code - 128);
	else
		snprintf(how, sizeof(how), "ended with exit code %d",
		    o->exit_code);
	snprintf(evalue, sizeof(evalue),
	    "The %s kernel %s: its state is lost, the next call gets a new one",
	    context_language(s->context), how);
	put_error(s, "KernelDied", evalue);
}

static void
put_end(struct code_stream *s, const struct kernel_outcome *o, int64_t count)
{
	auto_json json_t *event = NULL;
	char text[64];

	switch (o->how) {
	case KERNEL_FAILED:
		if (o->error.len == 0) {
			put_error(s, "Error", "an error too large to be shown");
			return;
		}
		call_write(s->call, "data: ", 6);
		call_write(s->call, o->error.data, o->error.len);
		call_write(s->call, "\n\n", 2);
		return;
	case KERNEL_TIMED_OUT:
		snprintf(text, sizeof(text), "Execution timed out after %lldms",
		    (long long)s->options->timeout_ms);
		put_stopped(s, o, "TimeoutError", text);
		return;
	case KERNEL_INTERRUPTED:
		put_stopped(s, o, "KeyboardInterrupt",
		    "Execution was interrupted");
		return;
	case KERNEL_DESTROYED:
		put_error(s, "ContextDeleted", "The context was deleted");
		return;
	case KERNEL_DIED:
		put_died(s, o);
		return;
	case KERNEL_DONE:
	default:
		event = json_pack("{s:s, s:I}", "type", "execution_complete",
		    "execution_count", (json_int_t)count);
		sse_event(s->call, event);
	}
}

/* ---- running */

/*
 * Waits until the context is free.  False when the deadline passes, the client
 * goes or the call is interrupted before that.
 */
static bool
wait_turn(struct code_stream *s, struct context *x,
    const struct kernel_cell *cell)
{
	int64_t deadline_ms = cell->deadline_ms;

	for (;;) {
		int64_t until = clock_ms() + SSE_HEARTBEAT_MS;
		bool last = deadline_ms > 0 && deadline_ms <= until;

		if (context_enter(x, cell->job, last ? deadline_ms : until)) {
			if (sse_wait(s->call, -1, 0))
				return true;
			context_leave(x);
			return false;
		}
		sse_heartbeat(s->call);
		flush_stream(s);
		if (last || s->call->gone ||
		    interrupt_told(cell->job) != INTERRUPT_NOT)
			return false;
	}
}

static void
run_cell(struct code_stream *s, struct context *x,
    const struct kernel_cell *cell)
{
	struct kernel_outcome o = { .how = KERNEL_TIMED_OUT };
	int64_t count = 0;
	struct err e;
	int rc = 0;

	if (wait_turn(s, x, cell)) {
		rc = context_run(x, cell, &o, &count, &e);
		context_leave(x);
	} else if (interrupt_told(cell->job) != INTERRUPT_NOT) {
		o.how = KERNEL_INTERRUPTED;
	}
	end_text(s);
	s->event.len = 0;
	if (session_end_event(&s->event, NULL)) {
		call_write(s->call, s->event.data, s->event.len);
	} else if (rc < 0) {
		log_err(LOG_INFO, "kernel", &e);
		put_error(s, "KernelNotStarted", e.msg);
	} else
		put_end(s, &o, count);
	flush_stream(s);
	buf_free(&o.error);
}

/*
 * Sends the event `start` only to clients that chose an executionId or sent an
 * unknown member.  Others may take the first event for a result, as always;
 * they find the id in the header.
 */
static void
put_start(struct code_stream *s)
{
	auto_json json_t *event = json_pack("{s:s, s:s}", "type", "start",
	    "executionId", s->options->execution.id);

	execution_tell(s->call, &s->options->execution);
	sse_begin(s->call);
	if (s->options->execution.chosen || s->call->also != NULL)
		sse_event(s->call, event);
}

static int
run_code(struct call *c, const struct code_options *w, struct context *x,
    struct err *e)
{
	struct code_stream s = { .call = c,
		.options = w,
		.context = x,
		.quiet_ms = SSE_HEARTBEAT_MS,
		.counted = true };
	struct interrupt_job job;
	struct kernel_cell cell = {
		.code = w->code,
		.env = w->env,
		.deadline_ms =
		    w->timeout_ms > 0 ? clock_ms() + w->timeout_ms : 0,
		.job = &job,
		.output = on_output,
		.quiet = on_quiet,
		.quiet_ms = &s.quiet_ms,
		.result = on_result,
		.ctx = &s,
	};

	for (int i = 0; i < 2; i++)
		s.lines[i] =
		    (struct lines){ .emit = keep_line, .ctx = &s.text[i] };
	/* first, so that a client that sees it run can interrupt it */
	if (interrupt_enter(&job,
		&(struct interrupt_name){ .id = w->execution.id,
		    .shell = context_id(x),
		    .route = w->execution.route,
		    .command = w->code,
		    .client = w->execution.client },
		e) < 0)
		return -1;
	activity_begin(ACTIVITY_RUNNING);
	activity_begin(ACTIVITY_STREAMS);
	activity_limit(cell.deadline_ms);
	interrupt_limit(&job, cell.deadline_ms);
	put_start(&s);
	run_cell(&s, x, &cell);
	interrupt_end(&job);
	activity_end(ACTIVITY_RUNNING);
	if (s.counted)
		activity_end(ACTIVITY_STREAMS);
	for (int i = 0; i < 2; i++)
		buf_free(&s.text[i]);
	buf_free(&s.event);
	return 0;
}

int
api_execute_code(struct call *c, struct err *e)
{
	auto_json json_t *body = NULL;
	struct code_options w = { .language = "python" };
	struct context *x;
	int rc;

	if (decode_body(c, &body, &w, e) < 0 ||
	    choose_context(c, &w, &x, e) < 0)
		return -1;
	rc = run_code(c, &w, x, e);
	context_release(x);
	return rc;
}
