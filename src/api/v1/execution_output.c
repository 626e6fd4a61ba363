/* execution_output.c: serves what executions say and leave. */
#include <stdio.h>

#include "api/app.h"
#include "api/gate/access.h"
#include "api/v1/execution_call.h"
#include "api/v1/handlers.h"
#include "api/v1/reply_rows.h"
#include "common/mem.h"
#include "common/utf8.h"
#include "control/execution_artifact.h"
#include "control/execution_control.h"
#include "web/attachment.h"

enum { PIECE_MAX = 256 * 1024, PATH_BYTES_MAX = 1025 };

/* ---- logs */

struct logs_query {
	int only; /* 0 stdout, 1 stderr, -1 both */
	int64_t offset, until_ms;
};

static int
read_logs_query(struct call *c, struct logs_query *q, struct err *e)
{
	char stream[16], offset[24];
	bool given;

	*q = (struct logs_query){ .only = -1 };
	if (call_query(c, "stream", stream, sizeof(stream), &given, e) < 0)
		return -1;
	if (given && !str_equal(stream, "stdout") &&
	    !str_equal(stream, "stderr"))
		return err_field(e, "stream", "must be stdout or stderr");
	if (given)
		q->only = str_equal(stream, "stderr");
	if (call_query(c, "offset", offset, sizeof(offset), &given, e) < 0)
		return -1;
	if (given && !str_to_int(offset, 0, INT64_MAX, &q->offset))
		return err_field(e, "offset", "must be a number of bytes");
	return execution_read_wait(c, &q->until_ms, e);
}

/* An answer of GET .../logs. */
struct logs {
	json_t *output;
	int64_t offset, next, dropped;
	bool done;
};

static void
reply_logs(struct call *c, const char *id, const struct logs *l)
{
	auto_json json_t *reply = json_pack("{s:s, s:I, s:I, s:o, s:b, s:I}",
	    "id", id, "offset", (json_int_t)l->offset, "next",
	    (json_int_t)l->next, "output", l->output, "done", (int)l->done,
	    "droppedBytes", (json_int_t)l->dropped);

	call_reply(c, 200, reply);
}

/* Sets output and next, and leaves half a character for the next answer. */
static void
set_live(struct logs *l, const struct agent_attempt *a, int only)
{
	struct output_list list = { .only = only };
	size_t at = 0;

	for (size_t i = 0; i < json_array_size(a->streams); i++) {
		const json_t *run = json_array_get(a->streams, i);
		int which = (int)json_integer_value(json_array_get(run, 0));
		size_t len = (size_t)json_integer_value(json_array_get(run, 1));

		output_list_add(&list, which, a->output.data + at, len);
		at += len;
	}
	if (a->known)
		l->next = a->offset + (int64_t)at;
	if (a->known && a->state != AGENT_ATTEMPT_ENDED)
		l->next -= (int64_t)output_list_hold(&list);
	l->output = output_list_end(&list);
}

/*
 * The output of one that has ended.  It is in files of this host, or, if it
 * could not be kept, still with the wrapper.  *found: it is here.
 */
static int
ended_logs(struct call *c, struct control *ctl, const char *id,
    const struct logs_query *q, bool *found, struct err *e)
{
	auto_execution_output struct execution_output o = { 0 };
	struct logs l = { .done = true };

	if (execution_output_read(ctl, id, &o, e) < 0)
		return -1;
	*found = o.kept;
	if (!*found)
		return 0;
	if (q->offset > output_end(&o.shown))
		return err_field(e, "offset", "is beyond the end, %lld",
		    (long long)output_end(&o.shown));
	l.offset = q->offset > o.shown.first ? q->offset : o.shown.first;
	l.output = output_json(&o.shown, l.offset, PIECE_MAX, q->only, &l.next);
	l.done = l.next >= output_end(&o.shown);
	l.dropped = o.shown.first;
	reply_logs(c, id, &l);
	return 0;
}

static int
is_over(struct call *c, const char *id, bool *over, struct err *e)
{
	auto_rows struct rows *r = NULL;

	if (execution_read_own(c, id, &r, e) < 0)
		return -1;
	*over = rows_bool(r, 0, "over");
	return 0;
}

/* Whether there is nothing but the beginning of a character. */
static bool
is_half(const struct agent_attempt *a)
{
	return a->known && a->state != AGENT_ATTEMPT_ENDED &&
	    a->output.len > 0 && utf8_whole(a->output.data, a->output.len) == 0;
}

/* Waits for the rest of it, as long as the client does. */
static int
await_character(struct control *ctl, const char *id, const struct logs_query *q,
    struct agent_attempt *a, struct err *e)
{
	auto_attempt struct agent_attempt more = { 0 };

	if (q->until_ms == 0)
		return 0;
	if (execution_read(ctl, id, a->offset + (int64_t)a->output.len,
		q->until_ms, &more, e) < 0)
		return -1;
	agent_attempt_free(a);
	return execution_read(ctl, id, q->offset, 0, a, e);
}

/* Asks the wrapper, unless that would hold up others. */
static int
ask_live(struct call *c, struct control *ctl, const char *id,
    const struct logs_query *q, struct agent_attempt *a, struct err *e)
{
	auto_rows struct rows *r = NULL;

	if (execution_read_own(c, id, &r, e) < 0)
		return -1;
	if (!execution_may_ask(c, r))
		return err_set(e, ERR_UNAVAILABLE, CODE_BUSY,
		    "the session does not answer now; try again");
	if (execution_read(ctl, id, q->offset, q->until_ms, a, e) == 0 &&
	    (!is_half(a) || await_character(ctl, id, q, a, e) == 0))
		return 0;
	execution_note_mute(c, r, e);
	return -1;
}

/* Output while it runs, or while its wrapper has it. */
static int
live_logs(struct call *c, struct control *ctl, const char *id,
    const struct logs_query *q, struct err *e)
{
	auto_attempt struct agent_attempt a = { 0 };
	struct logs l = { .offset = q->offset, .next = q->offset };
	bool over, found = false;

	if (ask_live(c, ctl, id, q, &a, e) < 0 ||
	    (q->until_ms > 0 && access_check(c, ACCESS_READ, e) < 0) ||
	    is_over(c, id, &over, e) < 0)
		return -1;
	/* its end has moved the output from the wrapper to the files */
	if (over && ended_logs(c, ctl, id, q, &found, e) < 0)
		return -1;
	if (found)
		return 0;
	set_live(&l, &a, q->only);
	l.dropped = a.dropped;
	l.done = over;
	if (a.known) {
		l.offset = a.offset;
		l.done = a.state == AGENT_ATTEMPT_ENDED && l.next >= a.bytes;
	}
	if (over && !l.done && a.output.len == 0) {
		/* the output was not kept, and its wrapper has removed it */
		l.dropped = a.bytes;
		l.done = true;
	}
	reply_logs(c, id, &l);
	return 0;
}

int
v1_execution_logs(struct call *c, struct err *e)
{
	struct control *ctl = app_control(c, e);
	const char *id = call_var(c, "execution");
	struct logs_query q;
	bool over, found = false;

	if (ctl == NULL || is_over(c, id, &over, e) < 0 ||
	    read_logs_query(c, &q, e) < 0 ||
	    (over && ended_logs(c, ctl, id, &q, &found, e) < 0))
		return -1;
	return found ? 0 : live_logs(c, ctl, id, &q, e);
}

/* ---- recording */

static int
must_be_over(const struct rows *r, struct err *e)
{
	return rows_bool(r, 0, "over")
	    ? 0
	    : err_set(e, ERR_CONFLICT, CODE_EXECUTION_RUNS,
		  "the execution has not ended; GET .../logs shows its output so far");
}

static bool
send_line(void *ctx, const char *line, size_t len)
{
	struct call *c = ctx;

	return call_write(c, line, len) == 0 && !c->gone;
}

int
v1_execution_recording(struct call *c, struct err *e)
{
	struct control *ctl = app_control(c, e);
	const char *id = call_var(c, "execution");
	auto_rows struct rows *r = NULL;
	auto_execution_output struct execution_output o = { 0 };
	struct recording_head head;

	if (ctl == NULL || execution_read_now(c, ctl, id, &r, e) < 0 ||
	    must_be_over(r, e) < 0 || execution_output_read(ctl, id, &o, e) < 0)
		return -1;
	if (!o.kept)
		return err_set(e, ERR_GONE, CODE_ARTIFACT_GONE,
		    "the output is not kept any more");
	head = (struct recording_head){ .title = rows_text(r, 0, "command"),
		.began = rows_int(r, 0, "began") };
	attachment_name(c, "recording.cast", "");
	call_begin(c, 200, "application/x-asciicast");
	output_recording(&o.shown, &head, send_line, c);
	return 0;
}

/* ---- files */

static int
list_artifacts(struct call *c, struct control *ctl, const char *id,
    struct err *e)
{
	auto_rows struct rows *r = NULL;

	if (STORE_RUN(ctl->store, STMT_ARTIFACT_LIST, &r, e, id) < 0)
		return -1;
	return reply_rows(c, "artifacts", r, e);
}

static int
send_artifact(struct call *c, struct control *ctl, const char *id,
    const char *path, struct err *e)
{
	struct execution_artifact a;
	auto_fd int fd = -1;
	char length[24];

	if (execution_may_send(c, e) < 0 ||
	    execution_artifact_open(ctl, id, path, &a, e) < 0)
		return -1;
	fd = a.fd;
	attachment_name(c, path[0] != '\0' ? path : "output.log", "");
	call_header(c, "X-Content-Type-Options", "nosniff");
	snprintf(length, sizeof(length), "%lld", (long long)a.bytes);
	call_header(c, "Content-Length", length);
	call_begin(c, 200, "application/octet-stream");
	if (call_send_file(c, fd, 0, a.bytes) < 0)
		call_cut(c);
	return 0;
}

int
v1_execution_artifacts(struct call *c, struct err *e)
{
	struct control *ctl = app_control(c, e);
	const char *id = call_var(c, "execution");
	auto_rows struct rows *r = NULL;
	char path[PATH_BYTES_MAX], kind[8];
	bool by_path, by_kind;

	if (ctl == NULL ||
	    call_query(c, "path", path, sizeof(path), &by_path, e) < 0 ||
	    call_query(c, "kind", kind, sizeof(kind), &by_kind, e) < 0)
		return -1;
	if (by_kind && !str_equal(kind, "log"))
		return err_field(e, "kind", "must be log");
	if (by_kind && by_path)
		return err_field(e, "path", "is not for the log");
	if (by_path && path[0] == '\0')
		return err_field(e, "path", "must not be empty");
	if (execution_read_now(c, ctl, id, &r, e) < 0 || must_be_over(r, e) < 0)
		return -1;
	return by_path || by_kind
	    ? send_artifact(c, ctl, id, by_path ? path : "", e)
	    : list_artifacts(c, ctl, id, e);
}
