/* terminal_stream.c: streams a terminal's output (api/terminal/{id}/stream). */
#include <stdlib.h>

#include "agent/api/request.h"
#include "agent/api/routes.h"
#include "agent/pty/pty.h"
#include "common/base64.h"
#include "common/mem.h"
#include "web/sse.h"

enum { OFFSET_TEXT_MAX = 24 };

struct terminal_stream {
	struct call *call;
	struct pty *pty;
	struct child_watch watch;
	struct pty_block *block;
	struct buf event;
	int64_t pos; /* offset of the first byte that was not sent */
};

/* ---- where to begin */

/* Reads the offset from Last-Event-ID or the query into *out; -1: absent. */
static int
read_offset(struct call *c, int64_t *out, struct err *e)
{
	const char *header = call_param(c, "HTTP_LAST_EVENT_ID");
	const char *field = "Last-Event-ID";
	char text[OFFSET_TEXT_MAX];
	bool present = true;

	*out = -1;
	if (str_empty(header)) {
		field = "offset";
		if (call_query(c, field, text, sizeof(text), &present, e) < 0)
			return -1;
		header = text;
	}
	if (present && !str_to_int(header, 0, INT64_MAX, out))
		return err_field(e, field, "must be an offset in bytes");
	return 0;
}

/* ---- events */

static void
send_event(struct terminal_stream *f)
{
	buf_str(&f->event, "}\n\n");
	call_write(f->call, f->event.data, f->event.len);
	f->event.len = 0;
}

static void
skip_to(struct terminal_stream *f, int64_t offset)
{
	int64_t bytes = offset - f->pos;

	f->pos = offset;
	if (bytes <= 0)
		return;
	buf_fmt(&f->event, "id: %lld\ndata: {\"type\":\"lost\",\"bytes\":%lld",
	    (long long)offset, (long long)bytes);
	send_event(f);
}

static void
send_output(struct terminal_stream *f)
{
	const struct pty_block *b = f->block;

	skip_to(f, b->offset);
	f->pos += (int64_t)b->len;
	buf_fmt(&f->event, "id: %lld\ndata: {\"type\":\"output\",\"data\":\"",
	    (long long)f->pos);
	base64_encode(&f->event, b->data, b->len);
	buf_fmt(&f->event, "\",\"offset\":%lld", (long long)f->pos);
	send_event(f);
}

/* ---- following */

static void
follow_terminal(struct terminal_stream *f)
{
	struct pty_now now;

	do {
		/* status first: all output before the end can be read then */
		now = pty_now(f->pty);
		while (!f->call->gone && pty_read(f->pty, f->pos, f->block))
			send_output(f);
		call_flush(f->call);
	} while (now.running && sse_wait(f->call, f->watch.fd, -1));
	if (now.running || request_session_end(f->call, NULL))
		return;
	buf_fmt(&f->event, "id: %lld\ndata: {\"type\":\"exit\",\"code\":%d",
	    (long long)f->pos, now.exit_code);
	if (now.signal[0] != '\0')
		buf_fmt(&f->event, ",\"signal\":\"%s\"", now.signal);
	send_event(f);
	call_flush(f->call);
}

static void
serve_stream(struct terminal_stream *f, int64_t asked)
{
	auto_free struct pty_block *block = xmalloc(sizeof(*block));
	int64_t at = pty_begin(f->pty, asked);
	struct pty_now now;

	f->block = block;
	f->pos = at;
	sse_begin(f->call);
	now = pty_now(f->pty);
	buf_fmt(&f->event,
	    "data: {\"type\":\"ready\",\"offset\":%lld,\"cols\":%d,\"rows\":%d",
	    (long long)at, now.cols, now.rows);
	send_event(f);
	if (asked >= 0 && asked < at) {
		f->pos = asked;
		skip_to(f, at);
	}
	follow_terminal(f);
	buf_free(&f->event);
}

int
api_terminal_stream(struct call *c, struct err *e)
{
	struct terminal_stream f = { .call = c };
	int64_t asked;
	int rc = -1;

	if (api_terminal_find(c, &f.pty, e) < 0)
		return -1;
	if (read_offset(c, &asked, e) == 0 &&
	    pty_watch(f.pty, &f.watch, e) == 0) {
		serve_stream(&f, asked);
		pty_unwatch(f.pty, &f.watch);
		rc = 0;
	}
	pty_release(f.pty);
	return rc;
}
