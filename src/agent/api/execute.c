/* execute.c: runs a command (POST api/execute and api/execute/stream). */
#include <stdio.h>
#include <string.h>

#include "agent/api/collected.h"
#include "agent/api/once.h"
#include "agent/api/request.h"
#include "agent/api/routes.h"
#include "agent/base/lines.h"
#include "agent/run/activity.h"
#include "agent/run/session_end.h"
#include "agent/shell/envset.h"
#include "agent/shell/exec.h"
#include "common/base64.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/utf8.h"
#include "web/reply.h"
#include "web/sse.h"

enum { BODY_MAX = 1024 * 1024, TIMEOUT_ABSENT = -1 };

/* ---- the body, the same for both routes */

struct options {
	int64_t timeout_ms;
	int background;
	int shell; /* -1: absent */
	char cwd[SHELL_PATH_MAX];
	const json_t *env;
};

static const struct jfield OPTIONS[] = {
	JFIELD("timeoutMs", struct options, timeout_ms, J_INT, 0, 0,
	    SHELL_TIMEOUT_MS_MAX, "kills the command after this time"),
	JFIELD("background", struct options, background, J_BOOL, 0, 0, 1,
	    "runs it as api/process/start does"),
	JFIELD("shell", struct options, shell, J_BOOL, 0, 0, 1,
	    "false: a process of its own, with the shell's state"),
	JFIELD("cwd", struct options, cwd, J_STR, 0, 1, SHELL_PATH_MAX - 1,
	    "directory of this command only"),
	JFIELD("env", struct options, env, J_OBJ, 0, 0, ENV_COUNT_MAX,
	    "variables of this command only"),
};

/* One call, decoded. */
struct run_options {
	struct exec exec;
	struct execution execution;
	bool background;
	bool beside; /* in a process of its own, not in the shell */
	bool began;  /* the command was started: it may have had effects */
};

/* Decides where the command runs: in the shell, beside it, in background. */
static int
choose_place(struct call *c, const json_t *body, const struct options *o,
    const char *route, struct run_options *w, struct err *e)
{
	bool streams = str_equal(route, "execute/stream");

	w->background = o->background == 1;
	w->beside = streams || o->shell == 0 ||
	    str_equal(w->exec.shell, EXEC_SESSIONLESS);
	if (w->background && streams)
		return err_field(e, "background",
		    "cannot be combined with a stream; use api/process/start");
	if (o->shell == 1 && (w->beside || w->background))
		return err_field(e, "shell",
		    "must be false: this command has a process of its own");
	if (w->background)
		return execution_refuse(body,
		    "is not for a background process: it has a processId", e);
	w->exec.execution = &w->execution;
	return execution_read(c, body, route, &w->execution, e);
}

static int
decode_body(struct call *c, json_t **body, const char *route,
    struct run_options *w, struct err *e)
{
	struct options o = { .timeout_ms = TIMEOUT_ABSENT, .shell = -1 };
	struct exec *x = &w->exec;

	if (request_body(c, BODY_MAX, body, e) < 0 ||
	    request_text(*body, "command", 1, BODY_MAX, &x->command, e) < 0)
		return -1;
	request_context(c, json_pack("{s:s}", "command", x->command));
	if (jfield_decode(*body, OPTIONS, ARRAY_LEN(OPTIONS), J_LENIENT, &o,
		e) < 0 ||
	    envset_check(o.env, "env", e) < 0 ||
	    request_shell(c, *body, x->shell, e) < 0)
		return -1;
	x->timeout_ms = o.timeout_ms;
	x->env = o.env;
	str_copy(x->cwd, sizeof(x->cwd), o.cwd);
	return choose_place(c, *body, &o, route, w, e);
}

/* ---- collected */

/*
 * The contract with SDKs fixes the text.  Some old clients retry a call after
 * it.  No process of the first attempt is left by then, but its effects happen
 * again.
 */
static int
set_timed_out(struct call *c, const struct exec *x, const struct collected *k,
    const struct shell_outcome *o, struct err *e)
{
	json_t *context = collected_context(x, k);

	json_object_set_new(context, "exitCode", json_integer(124));
	json_object_set_new(context, "shellReplaced",
	    json_boolean(o->replaced));
	request_context(c, context);
	return err_set(e, ERR_INTERNAL, CODE_COMMAND_EXECUTION_ERROR,
	    "Command timeout after %lldms%s%s", (long long)x->timeout_ms,
	    o->replaced ? "; the shell did not yield and was replaced" : "",
	    !o->replaced      ? ""
		: o->restored ? " (directory and exported variables are kept)"
			      : " (its state is lost)");
}

/* Sets w->began, also on failure. */
static int
run_collected(struct call *c, struct run_options *w, struct collected *k,
    struct err *e)
{
	struct exec *x = &w->exec;
	int64_t begin = clock_ms();
	struct shell_outcome o;
	char note[64];
	int rc;

	x->is_work = true;
	execution_tell(c, &w->execution);
	rc = w->beside ? exec_beside(x, &o, e) : exec_in_shell(x, &o, e);
	w->began = o.began;
	if ((rc == 0 || e->kind == ERR_GONE) && session_end_explain(e)) {
		json_t *context = collected_context(x, k);

		/* a command whose shell has ended has no exit code */
		if (rc == 0)
			json_object_set_new(context, "exitCode",
			    json_integer(o.exit_code));
		request_context(c, context);
		return -1;
	}
	if (rc == 0 && o.destroyed)
		rc = shell_destroyed(x->shell, e);
	if (rc < 0 && e->kind == ERR_GONE)
		request_context(c, collected_context(x, k));
	if (rc < 0)
		return -1;
	if (o.timed_out && !w->beside)
		return set_timed_out(c, x, k, &o, e);
	if (o.timed_out) {
		snprintf(note, sizeof(note), "Command timed out after %lldms\n",
		    (long long)x->timeout_ms);
		collected_add(k, 1, note, strlen(note));
	}
	collected_reply(c, x, k, &o, clock_ms() - begin);
	return 0;
}

static int
run_call(struct call *c, struct run_options *w, struct err *e)
{
	struct collected k = { 0 };
	int rc;

	if (w->exec.timeout_ms == TIMEOUT_ABSENT)
		w->exec.timeout_ms =
		    w->background ? 0 : shell_timeout_ms(w->exec.shell);
	if (w->background) {
		rc = api_process_launch(c,
		    &(struct process_options){ .exec = w->exec }, e);
		w->began = rc == 0;
		return rc;
	}
	w->exec.output = collected_add;
	w->exec.ctx = &k;
	rc = run_collected(c, w, &k, e);
	collected_free(&k);
	return rc;
}

static int
run_once(struct call *c, const char *key, const json_t *body,
    struct run_options *w, struct err *e)
{
	/* keys are sorted, so that equal requests have equal text */
	auto_free char *sorted =
	    json_dumps(body, JSON_SORT_KEYS | JSON_COMPACT);
	auto_free char *text = xasprintf("%s %s", w->exec.shell, sorted);
	const struct api_request *s = c->context;
	struct once *o;
	bool first;
	int rc;

	if (once_begin(c, key, text, &first, &o, e) < 0)
		return -1;
	if (!first)
		return 0;
	rc = run_call(c, w, e);
	/* the error of a command that has begun is an answer that is kept */
	if (rc < 0 && w->began) {
		log_err(LOG_INFO, "call_failed", e);
		reply_container_error(c, e, s->context);
		rc = 0;
	}
	once_end(o, c, w->began);
	return rc;
}

int
api_execute(struct call *c, struct err *e)
{
	auto_json json_t *body = NULL;
	struct run_options w = { 0 };
	const char *key;

	if (decode_body(c, &body, "execute", &w, e) < 0 ||
	    once_key(c, &key, e) < 0)
		return -1;
	return str_empty(key) ? run_call(c, &w, e)
			      : run_once(c, key, body, &w, e);
}

/* ---- streamed */

struct exec_stream {
	struct call *call;
	const struct exec *exec;
	struct lines lines[2];
	struct buf event;
	int quiet_ms;
	bool base64;  /* output is sent as base64, because it may be no text */
	bool begun;   /* the event `start` was sent */
	bool counted; /* by activity_begin(ACTIVITY_STREAMS) */
};

static const char *const STREAM_NAMES[] = { "stdout", "stderr" };

static void
put_event(struct exec_stream *s)
{
	call_write(s->call, s->event.data, s->event.len);
}

/* Begins an event, which close_event() ends and sends. */
static void
open_event(struct exec_stream *s, const char *type)
{
	char at[CLOCK_ISO_MAX];

	clock_iso(at);
	s->event.len = 0;
	buf_fmt(&s->event, "data: {\"type\":\"%s\",\"timestamp\":\"%s\"", type,
	    at);
}

static void
add_text(struct exec_stream *s, const char *name, const char *text, size_t len)
{
	buf_fmt(&s->event, ",\"%s\":\"", name);
	utf8_json(&s->event, text, len);
	buf_str(&s->event, "\"");
}

static void
close_event(struct exec_stream *s)
{
	buf_str(&s->event, "}\n\n");
	put_event(s);
}

static void
flush_stream(struct exec_stream *s)
{
	call_flush(s->call);
	if (s->call->gone && s->counted) {
		/* the stream has ended, but the command still runs */
		s->counted = false;
		activity_end(ACTIVITY_STREAMS);
	}
}

static void
send_start(void *ctx, pid_t pid)
{
	struct exec_stream *s = ctx;

	if (s->begun)
		return;
	s->begun = true;
	sse_begin(s->call);
	open_event(s, "start");
	add_text(s, "command", s->exec->command, strlen(s->exec->command));
	if (pid > 0)
		buf_fmt(&s->event, ",\"pid\":%d", (int)pid);
	buf_fmt(&s->event, ",\"executionId\":\"%s\"", s->exec->execution->id);
	request_add_ignored(s->call, &s->event);
	close_event(s);
	flush_stream(s);
}

struct line_ctx {
	struct exec_stream *stream;
	int which;
};

static void
send_line(void *ctx, const char *text, size_t len)
{
	const struct line_ctx *l = ctx;
	struct exec_stream *s = l->stream;

	open_event(s, STREAM_NAMES[l->which]);
	if (s->base64) {
		buf_str(&s->event, ",\"data\":\"");
		base64_encode(&s->event, text, len);
		buf_str(&s->event, "\"");
	} else {
		add_text(s, "data", text, len);
	}
	close_event(s);
}

/* Sets the time until a part of a line is sent, or else a heartbeat. */
static void
set_quiet(struct exec_stream *s)
{
	int left_ms = lines_left_ms(s->lines, 2);

	s->quiet_ms = left_ms >= 0 ? left_ms : SSE_HEARTBEAT_MS;
}

static void
on_output(void *ctx, int which, const char *data, size_t len)
{
	struct exec_stream *s = ctx;

	send_start(s, 0);
	if (s->call->gone)
		return;
	lines_add(&s->lines[which], data, len);
	set_quiet(s);
	flush_stream(s);
}

/* Nothing came for quiet_ms. */
static void
on_quiet(void *ctx)
{
	struct exec_stream *s = ctx;

	if (lines_left_ms(s->lines, 2) >= 0) {
		lines_flush(&s->lines[0]);
		lines_flush(&s->lines[1]);
	} else if (s->begun) {
		sse_heartbeat(s->call);
	}
	set_quiet(s);
	flush_stream(s);
}

/* Clients show `data`, but their types declare `error`: send both. */
static void
put_error(struct exec_stream *s, const char *text)
{
	open_event(s, "error");
	add_text(s, "error", text, strlen(text));
	add_text(s, "data", text, strlen(text));
	close_event(s);
}

static bool
put_session_end(struct exec_stream *s, const struct shell_outcome *o)
{
	auto_json json_t *more = json_pack("{s:i}", "exitCode", o->exit_code);

	s->event.len = 0;
	if (!session_end_event(&s->event, more))
		return false;
	put_event(s);
	flush_stream(s);
	return true;
}

static void
send_end(struct exec_stream *s, const struct shell_outcome *o)
{
	char note[64];
	struct err e;

	send_start(s, 0);
	lines_end(&s->lines[0]);
	lines_end(&s->lines[1]);
	if (put_session_end(s, o))
		return;
	if (o->timed_out) {
		snprintf(note, sizeof(note), "Command timeout after %lldms",
		    (long long)s->exec->timeout_ms);
		put_error(s, note);
	} else if (o->destroyed) {
		shell_destroyed(s->exec->shell, &e);
		put_error(s, e.msg);
	}
	open_event(s, "complete");
	buf_fmt(&s->event, ",\"exitCode\":%d%s", o->exit_code,
	    o->interrupted ? ",\"interrupted\":true" : "");
	close_event(s);
	flush_stream(s);
}

int
api_execute_stream(struct call *c, struct err *e)
{
	auto_json json_t *body = NULL;
	struct run_options w = { .exec = { .output = on_output,
				     .quiet = on_quiet,
				     .started = send_start } };
	struct exec *x = &w.exec;
	struct exec_stream s = { .call = c,
		.exec = x,
		.quiet_ms = SSE_HEARTBEAT_MS,
		.counted = true };
	struct line_ctx ctx[2] = { { &s, 0 }, { &s, 1 } };
	struct shell_outcome o;
	int rc;

	if (decode_body(c, &body, "execute/stream", &w, e) < 0)
		return -1;
	if (x->timeout_ms == TIMEOUT_ABSENT)
		x->timeout_ms = 0; /* the shell's limit is for commands in it */
	/* other encodings are ignored: clients have always sent them */
	s.base64 = str_equal(json_str(body, "encoding"), "base64");
	x->quiet_ms = &s.quiet_ms;
	x->ctx = &s;
	for (int i = 0; i < 2; i++)
		s.lines[i] = (struct lines){ .emit = send_line,
			.ctx = &ctx[i],
			.at_once = s.base64 };
	x->is_work = true;
	execution_tell(c, &w.execution);
	activity_begin(ACTIVITY_STREAMS);
	rc = exec_beside(x, &o, e);
	if (rc == 0)
		send_end(&s, &o);
	else if (e->kind == ERR_GONE)
		request_context(c,
		    json_pack("{s:o}", "sessionId", json_lossy(x->shell)));
	if (s.counted)
		activity_end(ACTIVITY_STREAMS);
	for (int i = 0; i < 2; i++)
		buf_free(&s.lines[i].pending);
	buf_free(&s.event);
	return rc;
}
