/*
 * execution_stream.c: streams the output of executions.
 *
 * While an attempt runs, its wrapper has the stream, and the client is sent
 * there; afterwards it comes from what is kept.  Ids of events are the same:
 * ATTEMPT.OFFSET.
 */
#include <stdio.h>
#include <string.h>

#include "api/app.h"
#include "api/v1/execution_call.h"
#include "api/v1/handlers.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/utf8.h"
#include "control/execution_artifact.h"
#include "control/execution_control.h"
#include "web/sse.h"

enum { LOCATION_MAX = 160 };

/* The offset of Last-Event-ID, if that is of the present attempt; else 0. */
static int
read_place(const struct call *c, int64_t attempt, int64_t *offset,
    struct err *e)
{
	const char *last = call_param(c, "HTTP_LAST_EVENT_ID");
	const char *dot = strchr(last, '.');
	char number[24];
	int64_t of, at;

	*offset = 0;
	if (last[0] == '\0')
		return 0;
	if (dot == NULL || (size_t)(dot - last) >= sizeof(number) ||
	    !str_to_int(dot + 1, 0, INT64_MAX, &at))
		return err_field(e, "Last-Event-ID",
		    "must be the id of an event of this stream");
	memcpy(number, last, (size_t)(dot - last));
	number[dot - last] = '\0';
	if (str_to_int(number, 0, INT32_MAX, &of) && of == attempt)
		*offset = at;
	return 0;
}

static void
send_event(struct call *c, int64_t attempt, int64_t pos, struct buf *members)
{
	auto_buf struct buf event = { 0 };

	buf_fmt(&event, "id: %lld.%lld\ndata: {", (long long)attempt,
	    (long long)pos);
	buf_add(&event, members->data, members->len);
	buf_str(&event, "}\n\n");
	(void)call_write(c, event.data, event.len);
	members->len = 0;
}

static void
send_text(struct call *c, int64_t attempt, int64_t pos, int stream,
    const struct buf *text)
{
	auto_buf struct buf members = { 0 };

	if (text->len == 0)
		return;
	buf_fmt(&members, "\"type\":\"%s\",\"data\":\"",
	    stream == OUTPUT_STDOUT ? "stdout" : "stderr");
	utf8_json(&members, text->data, text->len);
	buf_str(&members, "\"");
	send_event(c, attempt, pos, &members);
}

/* All output from `offset` on, and the end. */
static void
send_kept(struct call *c, const struct output *o, const struct rows *r,
    int64_t offset)
{
	int64_t attempt = rows_int(r, 0, "attempt");
	auto_buf struct buf members = { 0 };
	auto_buf struct buf text = { 0 };
	struct utf8_tail tail[2] = { 0 };
	struct output_at at = { 0 };
	struct output_run run;

	sse_begin(c);
	while (!c->gone && output_next(o, &at, &run)) {
		int64_t end = run.offset + (int64_t)run.len;
		size_t skip = offset > run.offset
		    ? (size_t)((offset < end ? offset : end) - run.offset)
		    : 0;

		text.len = 0;
		utf8_join(&tail[run.stream], run.data + skip, run.len - skip,
		    &text);
		/* a client that comes back gets the whole character */
		send_text(c, attempt, end - (int64_t)tail[run.stream].len,
		    run.stream, &text);
	}
	for (int i = 0; i < 2; i++) {
		text.len = 0;
		buf_add(&text, tail[i].bytes, tail[i].len);
		send_text(c, attempt, output_end(o), i, &text);
	}
	buf_fmt(&members, "\"type\":\"end\",\"state\":\"%s\",\"exitCode\":%s",
	    rows_text(r, 0, "state"),
	    rows_text(r, 0, "exit_code")[0] != '\0'
		? rows_text(r, 0, "exit_code")
		: "null");
	send_event(c, attempt, output_end(o), &members);
}

static int
stream_kept(struct call *c, struct control *ctl, const char *id,
    const struct rows *r, struct err *e)
{
	auto_execution_output struct execution_output o = { 0 };
	int64_t offset;

	if (read_place(c, rows_int(r, 0, "attempt"), &offset, e) < 0 ||
	    execution_may_send(c, e) < 0 ||
	    execution_output_read(ctl, id, &o, e) < 0)
		return -1;
	if (!o.kept)
		return err_set(e, ERR_GONE, CODE_ARTIFACT_GONE,
		    "the output is not kept any more");
	send_kept(c, &o.shown, r, offset);
	return 0;
}

/* The client comes back in a second: no wrapper has the execution yet. */
static void
send_later(struct call *c)
{
	static const char LATER[] = "retry: 1000\n: it waits\n\n";

	sse_begin(c);
	(void)call_write(c, LATER, sizeof(LATER) - 1);
}

int
v1_execution_stream(struct call *c, struct err *e)
{
	struct control *ctl = app_control(c, e);
	const char *id = call_var(c, "execution");
	auto_rows struct rows *r = NULL;
	char location[LOCATION_MAX];

	if (ctl == NULL || execution_read_now(c, ctl, id, &r, e) < 0)
		return -1;
	if (rows_bool(r, 0, "over"))
		return stream_kept(c, ctl, id, r, e);
	if (!rows_bool(r, 0, "given")) {
		send_later(c);
		return 0;
	}
	snprintf(location, sizeof(location),
	    "/v1/sessions/%s/api/attempts/%s.%lld/stream",
	    rows_text(r, 0, "session_id"), id,
	    (long long)rows_int(r, 0, "attempt"));
	call_header(c, "Location", location);
	call_header(c, "Cache-Control", "no-store");
	call_reply_empty(c, 307);
	return 0;
}
