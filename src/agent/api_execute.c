/* api_execute.c: POST api/execute and api/execute/stream. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "agent/activity.h"
#include "agent/base64.h"
#include "agent/envset.h"
#include "agent/exec.h"
#include "agent/lines.h"
#include "agent/routes.h"
#include "agent/scene.h"
#include "agent/session_end.h"
#include "common/clock.h"
#include "common/mem.h"
#include "common/utf8.h"
#include "web/sse.h"

enum {
	BODY_MAX = 1024 * 1024,
	TIMEOUT_ABSENT = -1,
	OUTPUT_MAX = 32 * 1024 * 1024,      /* of each stream of a command */
	OUTPUT_ALL_MAX = 128 * 1024 * 1024, /* of all that are collected */
	CONTEXT_OUTPUT_MAX = 16 * 1024
};

/* ---- the body, the same for both */

struct options {
	int64_t timeout_ms;
	int background;
	char cwd[SHELL_PATH_MAX];
	const json_t *env;
};

static const struct jfield OPTIONS[] = {
	JFIELD("timeoutMs", struct options, timeout_ms, J_INT, 0, 0,
	    SHELL_TIMEOUT_MS_MAX, "kills the command after so long"),
	JFIELD("background", struct options, background, J_BOOL, 0, 0, 1,
	    "as a process, as api/process/start does"),
	JFIELD("cwd", struct options, cwd, J_STR, 0, 1, SHELL_PATH_MAX - 1,
	    "directory of this command only"),
	JFIELD("env", struct options, env, J_OBJ, 0, 0, ENV_COUNT_MAX,
	    "variables of this command only"),
};

static int
decode(struct call *c, json_t **body, struct exec *x, bool *background,
    struct err *e)
{
	struct options o = { .timeout_ms = TIMEOUT_ABSENT };

	if (scene_body(c, BODY_MAX, body, e) < 0 ||
	    scene_text(*body, "command", 1, BODY_MAX, &x->command, e) < 0)
		return -1;
	scene_context(c, json_pack("{s:s}", "command", x->command));
	if (jfield_decode(*body, OPTIONS, ARRAY_LEN(OPTIONS), J_LENIENT, &o,
		e) < 0 ||
	    envset_check(o.env, "env", e) < 0 ||
	    scene_shell(c, *body, x->shell, e) < 0)
		return -1;
	*background = o.background == 1;
	x->timeout_ms = o.timeout_ms;
	x->env = o.env;
	str_copy(x->cwd, sizeof(x->cwd), o.cwd);
	return 0;
}

static void
gone_context(struct call *c, const struct exec *x, const struct err *e)
{
	if (e->kind == ERR_GONE)
		scene_context(c,
		    json_pack("{s:o}", "sessionId", json_lossy(x->shell)));
}

/* ---- collected */

struct collected {
	struct buf text[2];
	bool truncated;
};

static atomic_size_t collected_bytes; /* by all calls together */

static void
collect(void *ctx, int which, const char *data, size_t len)
{
	struct collected *k = ctx;
	struct buf *to = &k->text[which];
	size_t room = OUTPUT_MAX - to->len;

	if (atomic_load(&collected_bytes) > OUTPUT_ALL_MAX)
		room = 0;
	if (len > room) {
		k->truncated = true;
		len = room;
	}
	if (len == 0)
		return;
	buf_add(to, data, len);
	atomic_fetch_add(&collected_bytes, len);
}

static void
release(struct collected *k)
{
	atomic_fetch_sub(&collected_bytes, k->text[0].len + k->text[1].len);
	buf_free(&k->text[0]);
	buf_free(&k->text[1]);
}

static void
add_output(json_t *context, const char *name, const struct buf *b)
{
	size_t n = b->len < CONTEXT_OUTPUT_MAX ? b->len : CONTEXT_OUTPUT_MAX;

	/* the end of it tells more than the beginning */
	json_object_set_new(context, name,
	    scene_string(n > 0 ? b->data + b->len - n : "", n));
}

/*
 * The words are the contract's.  Some old clients repeat a call for them: no
 * process of the first is left then, but what it did is done again.
 */
static int
timed_out(struct call *c, const struct exec *x, const struct collected *k,
    const struct shell_outcome *o, struct err *e)
{
	json_t *context = json_pack("{s:o, s:s, s:i, s:b}", "sessionId",
	    json_lossy(x->shell), "command", x->command, "exitCode", 124,
	    "shellReplaced", o->replaced);

	add_output(context, "stdout", &k->text[0]);
	add_output(context, "stderr", &k->text[1]);
	scene_context(c, context);
	return err_set(e, ERR_INTERNAL, CODE_COMMAND_EXECUTION_ERROR,
	    "Command timeout after %lldms%s%s", (long long)x->timeout_ms,
	    o->replaced ? "; the shell did not yield and was replaced" : "",
	    !o->replaced      ? ""
		: o->restored ? " (directory and exported variables are kept)"
			      : " (its state is lost)");
}

/* The session was ended while it ran: it (o), or its shell (NULL). */
static int
session_ended(struct call *c, const struct exec *x, const struct collected *k,
    const struct shell_outcome *o)
{
	json_t *context = json_pack("{s:o, s:s}", "sessionId",
	    json_lossy(x->shell), "command", x->command);

	if (o != NULL)
		json_object_set_new(context, "exitCode",
		    json_integer(o->exit_code));
	add_output(context, "stdout", &k->text[0]);
	add_output(context, "stderr", &k->text[1]);
	scene_context(c, context);
	return -1;
}

/* By hand rather than as one JSON value: output can be large. */
static void
reply(struct call *c, const struct exec *x, const struct collected *k,
    const struct shell_outcome *o, int64_t took_ms)
{
	auto_buf struct buf tail = { 0 };
	char head[64], at[CLOCK_ISO_MAX];

	clock_iso(at);
	call_begin(c, 200, "application/json");
	snprintf(head, sizeof(head), "{\"success\":%s,\"exitCode\":%d",
	    o->exit_code == 0 ? "true" : "false", o->exit_code);
	call_write(c, head, strlen(head));
	call_write(c, ",\"stdout\":\"", 11);
	scene_write_text(c, k->text[0].data, k->text[0].len);
	call_write(c, "\",\"stderr\":\"", 12);
	scene_write_text(c, k->text[1].data, k->text[1].len);
	call_write(c, "\",\"command\":\"", 13);
	scene_write_text(c, x->command, strlen(x->command));
	buf_str(&tail, "\",\"sessionId\":\"");
	utf8_json(&tail, x->shell, strlen(x->shell));
	buf_fmt(&tail, "\",\"duration\":%lld,\"timestamp\":\"%s\"%s}",
	    (long long)took_ms, at, k->truncated ? ",\"truncated\":true" : "");
	if (o->interrupted) {
		tail.len--; /* the brace */
		buf_fmt(&tail, ",\"interrupted\":true%s}",
		    o->replaced ? ",\"shellReplaced\":true" : "");
	}
	call_write(c, tail.data, tail.len);
}

static int
run_collected(struct call *c, struct exec *x, struct collected *k,
    struct err *e)
{
	bool alone = str_equal(x->shell, EXEC_SESSIONLESS);
	int64_t begin = clock_ms();
	struct shell_outcome o;
	char note[64];
	int rc;

	x->is_work = true;
	rc = alone ? exec_beside(x, &o, e) : exec_in_shell(x, &o, e);
	if (rc < 0 && e->kind == ERR_GONE && session_end_explain(e))
		return session_ended(c, x, k, NULL);
	if (rc < 0) {
		gone_context(c, x, e);
		return -1;
	}
	if (session_end_explain(e))
		return session_ended(c, x, k, &o);
	if (o.timed_out && !alone)
		return timed_out(c, x, k, &o, e);
	if (o.timed_out) {
		snprintf(note, sizeof(note), "Command timed out after %lldms\n",
		    (long long)x->timeout_ms);
		collect(k, 1, note, strlen(note));
	}
	if (o.destroyed)
		return shell_destroyed(x->shell, e);
	reply(c, x, k, &o, clock_ms() - begin);
	return 0;
}

int
api_execute(struct call *c, struct err *e)
{
	auto_json json_t *body = NULL;
	struct collected k = { 0 };
	struct exec x = { .output = collect, .ctx = &k };
	bool background;
	int rc;

	if (decode(c, &body, &x, &background, e) < 0)
		return -1;
	if (x.timeout_ms == TIMEOUT_ABSENT)
		x.timeout_ms = background ? 0 : shell_timeout_ms(x.shell);
	if (background)
		return api_process_launch(c,
		    &(struct process_wish){ .exec = x }, e);
	rc = run_collected(c, &x, &k, e);
	release(&k);
	return rc;
}

/* ---- streamed */

struct stream {
	struct call *call;
	const struct exec *exec;
	struct lines lines[2];
	struct buf event;
	int quiet_ms;
	bool base64; /* what is no text, too */
	bool begun;
	bool counted; /* as an open stream */
};

static const char *const STREAM_NAMES[] = { "stdout", "stderr" };

static void
put_event(struct stream *s)
{
	call_write(s->call, s->event.data, s->event.len);
}

/* data: {"type":...,"timestamp":... — the caller closes it. */
static void
open_event(struct stream *s, const char *type)
{
	char at[CLOCK_ISO_MAX];

	clock_iso(at);
	s->event.len = 0;
	buf_fmt(&s->event, "data: {\"type\":\"%s\",\"timestamp\":\"%s\"", type,
	    at);
}

static void
add_text(struct stream *s, const char *name, const char *text, size_t len)
{
	buf_fmt(&s->event, ",\"%s\":\"", name);
	utf8_json(&s->event, text, len);
	buf_str(&s->event, "\"");
}

static void
close_event(struct stream *s)
{
	buf_str(&s->event, "}\n\n");
	put_event(s);
}

static void
flush(struct stream *s)
{
	call_flush(s->call);
	if (s->call->gone && s->counted) {
		/* the stream is over; the command is not */
		s->counted = false;
		activity_end(ACTIVITY_STREAMS);
	}
}

static void
begin(void *ctx, pid_t pid)
{
	struct stream *s = ctx;

	if (s->begun)
		return;
	s->begun = true;
	sse_begin(s->call);
	open_event(s, "start");
	add_text(s, "command", s->exec->command, strlen(s->exec->command));
	if (pid > 0)
		buf_fmt(&s->event, ",\"pid\":%d", (int)pid);
	close_event(s);
	flush(s);
}

struct line_ctx {
	struct stream *stream;
	int which;
};

static void
line(void *ctx, const char *text, size_t len)
{
	const struct line_ctx *l = ctx;
	struct stream *s = l->stream;

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

/* Until a piece of a line goes out, or a heartbeat. */
static void
set_quiet(struct stream *s)
{
	int left_ms = lines_left_ms(s->lines, 2);

	s->quiet_ms = left_ms >= 0 ? left_ms : SSE_HEARTBEAT_MS;
}

static void
output(void *ctx, int which, const char *data, size_t len)
{
	struct stream *s = ctx;

	begin(s, 0);
	if (s->call->gone)
		return;
	lines_add(&s->lines[which], data, len);
	set_quiet(s);
	flush(s);
}

static void
quiet(void *ctx)
{
	struct stream *s = ctx;

	if (lines_left_ms(s->lines, 2) >= 0) {
		lines_flush(&s->lines[0]);
		lines_flush(&s->lines[1]);
	} else if (s->begun) {
		sse_heartbeat(s->call);
	}
	set_quiet(s);
	flush(s);
}

/* `data` is what clients show, `error` what their types say. */
static void
put_error(struct stream *s, const char *text)
{
	open_event(s, "error");
	add_text(s, "error", text, strlen(text));
	add_text(s, "data", text, strlen(text));
	close_event(s);
}

static bool
put_session_end(struct stream *s, const struct shell_outcome *o)
{
	auto_json json_t *more = json_pack("{s:i}", "exitCode", o->exit_code);

	s->event.len = 0;
	if (!session_end_event(&s->event, more))
		return false;
	put_event(s);
	flush(s);
	return true;
}

static void
finish(struct stream *s, const struct shell_outcome *o)
{
	char note[64];
	struct err e;

	begin(s, 0);
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
	flush(s);
}

int
api_execute_stream(struct call *c, struct err *e)
{
	auto_json json_t *body = NULL;
	struct exec x = { .output = output, .quiet = quiet, .started = begin };
	struct stream s = { .call = c,
		.exec = &x,
		.quiet_ms = SSE_HEARTBEAT_MS,
		.counted = true };
	struct line_ctx ctx[2] = { { &s, 0 }, { &s, 1 } };
	struct shell_outcome o;
	bool background;
	int rc;

	if (decode(c, &body, &x, &background, e) < 0)
		return -1;
	if (x.timeout_ms == TIMEOUT_ABSENT)
		x.timeout_ms = 0; /* a shell's own is for commands in it */
	if (background)
		return err_field(e, "background",
		    "has no stream: see api/process/start");
	/* clients may send other encodings, which they have always sent */
	s.base64 = str_equal(json_str(body, "encoding"), "base64");
	x.quiet_ms = &s.quiet_ms;
	x.ctx = &s;
	for (int i = 0; i < 2; i++)
		s.lines[i] = (struct lines){ .emit = line,
			.ctx = &ctx[i],
			.at_once = s.base64 };
	x.is_work = true;
	activity_begin(ACTIVITY_STREAMS);
	rc = exec_beside(&x, &o, e);
	if (rc == 0)
		finish(&s, &o);
	else
		gone_context(c, &x, e);
	if (s.counted)
		activity_end(ACTIVITY_STREAMS);
	for (int i = 0; i < 2; i++)
		buf_free(&s.lines[i].pending);
	buf_free(&s.event);
	return rc;
}
