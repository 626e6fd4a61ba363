/* api_process_logs.c: api/process/{id}/logs and api/process/{id}/stream. */
#include <stdlib.h>
#include <string.h>

#include "agent/activity.h"
#include "agent/base64.h"
#include "agent/process.h"
#include "agent/routes.h"
#include "agent/scene.h"
#include "common/clock.h"
#include "common/mem.h"
#include "common/utf8.h"
#include "web/sse.h"

enum {
	OFFSET_TEXT_MAX = 24,
	QUIET_MS = 50 /* then a piece of a line goes out */
};

static const char *const STREAM_NAMES[] = { "stdout", "stderr" };

/* ---- where to begin */

static int
take_offset(const char *text, const char *field, int64_t *out, struct err *e)
{
	if (!str_to_int(text, 0, INT64_MAX, out))
		return err_field(e, field, "must be the number of a byte");
	return 0;
}

/* What the call asks for, 0 unless it says; `header` of a stream. */
static int
asked_offset(struct call *c, const char *header, int64_t *out, struct err *e)
{
	char text[OFFSET_TEXT_MAX];
	bool present;

	*out = 0;
	if (!str_empty(header))
		return take_offset(header, "Last-Event-ID", out, e);
	if (call_query(c, "offset", text, sizeof(text), &present, e) < 0)
		return -1;
	return present ? take_offset(text, "offset", out, e) : 0;
}

/* One beyond the end is of another process, which had this name before. */
static int64_t
begin_at(const struct ring *log, int64_t asked)
{
	int64_t first = ring_first(log);

	if (asked > atomic_load(&log->total))
		asked = 0;
	return asked > first ? asked : first;
}

/* ---- logs */

/* What one of the streams has between the two. */
static void
write_stream(struct call *c, const struct ring *log, int64_t from, int64_t to,
    enum ring_stream wanted)
{
	auto_free struct ring_block *b = xmalloc(sizeof(*b));

	while (from < to && !c->gone && ring_read(log, from, b)) {
		enum ring_stream which;

		if (b->offset >= to)
			break;
		if ((int64_t)b->len > to - b->offset)
			b->len = (size_t)(to - b->offset);
		for (size_t at = 0, n; at < b->len; at += n) {
			n = ring_run(b, at, &which);
			if (which == wanted)
				scene_write_text(c, b->data + at, n);
		}
		from = b->offset + (int64_t)b->len;
	}
}

static void
write_logs(struct call *c, const struct process *p, const struct ring *log,
    int64_t asked)
{
	int64_t total = atomic_load(&log->total);
	int64_t from = begin_at(log, asked), lost = atomic_load(&log->lost);
	auto_buf struct buf part = { 0 };
	char at[CLOCK_ISO_MAX];

	clock_iso(at);
	call_begin(c, 200, "application/json");
	buf_fmt(&part,
	    "{\"success\":true,\"processId\":\"%s\",\"timestamp\":\"%s\","
	    "\"offset\":%lld,\"nextOffset\":%lld,\"truncated\":%s",
	    process_id(p), at, (long long)from, (long long)total,
	    from > asked ? "true" : "false");
	if (lost > 0)
		buf_fmt(&part, ",\"droppedBytes\":%lld", (long long)lost);
	for (int i = 0; i < 2; i++) {
		buf_fmt(&part, "%s,\"%s\":\"", i > 0 ? "\"" : "",
		    STREAM_NAMES[i]);
		call_write(c, part.data, part.len);
		part.len = 0;
		write_stream(c, log, from, total, (enum ring_stream)i);
	}
	call_write(c, "\"}", 2);
}

int
api_process_logs(struct call *c, struct err *e)
{
	struct process *p;
	int64_t asked;

	if (api_process_find(c, &p, e) < 0)
		return -1;
	if (asked_offset(c, "", &asked, e) < 0) {
		process_release(p);
		return -1;
	}
	write_logs(c, p, process_log_begin(p), asked);
	process_log_end(p);
	process_release(p);
	return 0;
}

/* ---- the stream */

struct follow {
	struct call *call;
	struct process *process;
	const struct ring *log;
	struct process_watch watch;
	struct ring_block *block;
	struct buf event;
	int64_t pos;     /* what has been sent ends here */
	int64_t lost;    /* ... and so much was said to be lost */
	int64_t hold_ms; /* a piece of a line waits until then; 0: none */
	bool base64;     /* what is no text, too */
};

/* The id is where the next event begins: what a reader goes on with. */
static void
open_event(struct follow *f, const char *type, bool counted)
{
	char at[CLOCK_ISO_MAX];

	clock_iso(at);
	f->event.len = 0;
	if (counted)
		buf_fmt(&f->event, "id: %lld\n", (long long)f->pos);
	buf_fmt(&f->event,
	    "data: {\"type\":\"%s\",\"processId\":\"%s\",\"timestamp\":\"%s\"",
	    type, process_id(f->process), at);
}

static void
close_event(struct follow *f)
{
	buf_str(&f->event, "}\n\n");
	call_write(f->call, f->event.data, f->event.len);
}

static void
say_info(struct follow *f, int64_t asked)
{
	auto_json json_t *now = process_json(f->process);
	const char *command = json_str(now, "command");

	open_event(f, "process_info", false);
	buf_fmt(&f->event,
	    ",\"status\":\"%s\",\"offset\":%lld,\"truncated\":%s",
	    json_str(now, "status"), (long long)f->pos,
	    f->pos > asked ? "true" : "false");
	buf_str(&f->event, ",\"command\":\"");
	utf8_json(&f->event, command, strlen(command));
	buf_str(&f->event, "\"");
	close_event(f);
}

static void
say_dropped(struct follow *f, int64_t bytes)
{
	open_event(f, "dropped", true);
	buf_fmt(&f->event, ",\"bytes\":%lld", (long long)bytes);
	close_event(f);
}

static void
say_lost(struct follow *f)
{
	int64_t lost = atomic_load(&f->log->lost);

	if (lost > f->lost)
		say_dropped(f, lost - f->lost);
	f->lost = lost;
}

static void
skip_to(struct follow *f, int64_t offset)
{
	int64_t bytes = offset - f->pos;

	f->pos = offset;
	if (bytes > 0)
		say_dropped(f, bytes);
}

static void
say_output(struct follow *f, enum ring_stream which, const char *text,
    size_t len)
{
	f->pos += (int64_t)len;
	f->hold_ms = 0;
	open_event(f, STREAM_NAMES[which], true);
	buf_str(&f->event, ",\"data\":\"");
	if (f->base64)
		base64_encode(&f->event, text, len);
	else
		utf8_json(&f->event, text, len);
	buf_str(&f->event, "\"");
	close_event(f);
}

static size_t
whole_lines(const char *text, size_t len)
{
	const char *nl = memrchr(text, '\n', len);

	return nl != NULL ? (size_t)(nl - text) + 1 : 0;
}

/* What the block has; of the line that ends it, if it is `last`, the end is
 * waited for.  False when some is left. */
static bool
send_block(struct follow *f, bool last)
{
	const struct ring_block *b = f->block;

	for (size_t at = 0, n; at < b->len; at += n) {
		enum ring_stream which;
		size_t send;

		n = send = ring_run(b, at, &which);
		if (last && at + n == b->len)
			send = whole_lines(b->data + at, n);
		if (send > 0)
			say_output(f, which, b->data + at, send);
		if (send < n)
			return false;
	}
	return true;
}

/* All that is new; `all`: also a line that is not complete. */
static void
send_new(struct follow *f, bool all)
{
	/* seen before the look: what comes after it is not gone, but new */
	int64_t total = atomic_load(&f->log->total);
	bool went = true;

	while (went && !f->call->gone && ring_read(f->log, f->pos, f->block)) {
		const struct ring_block *b = f->block;
		bool last =
		    b->offset + (int64_t)b->len == atomic_load(&f->log->total);

		skip_to(f, b->offset);
		went = send_block(f, last && !all);
		total = atomic_load(&f->log->total);
	}
	if (went) { /* what the file no longer has is gone */
		skip_to(f, total);
		f->hold_ms = 0;
	} else if (f->hold_ms == 0) {
		f->hold_ms = clock_ms() + QUIET_MS;
	}
	say_lost(f);
	call_flush(f->call);
}

static void
say_exit(struct follow *f, const struct process_end *end)
{
	open_event(f, "exit", true);
	buf_fmt(&f->event,
	    ",\"exitCode\":%d,\"data\":\"Process %s with exit code %d\"",
	    end->exit_code, PROCESS_STATUS_NAMES[end->status], end->exit_code);
	close_event(f);
	call_flush(f->call);
}

static void
follow(struct follow *f)
{
	struct process_end now;

	do {
		/* first: what it wrote before its end is there by then */
		now = process_now(f->process);
		send_new(f,
		    now.status != PROCESS_RUNNING ||
			(f->hold_ms > 0 && clock_left_ms(f->hold_ms) == 0));
	} while (now.status == PROCESS_RUNNING &&
	    sse_wait(f->call, f->watch.fd,
		f->hold_ms > 0 ? clock_left_ms(f->hold_ms) : -1));
	if (now.status != PROCESS_RUNNING)
		say_exit(f, &now);
}

static void
stream(struct follow *f, int64_t asked)
{
	auto_free struct ring_block *block = xmalloc(sizeof(*block));

	f->block = block;
	f->log = process_log_begin(f->process);
	f->pos = begin_at(f->log, asked);
	activity_begin(ACTIVITY_STREAMS);
	sse_begin(f->call);
	say_info(f, asked);
	follow(f);
	activity_end(ACTIVITY_STREAMS);
	process_log_end(f->process);
	buf_free(&f->event);
}

/* ?encoding=base64 */
static int
asked_encoding(struct call *c, bool *base64, struct err *e)
{
	char text[16] = "";
	bool present;

	if (call_query(c, "encoding", text, sizeof(text), &present, e) < 0)
		return -1;
	*base64 = str_equal(text, "base64");
	if (present && !*base64 && !str_equal(text, "utf-8"))
		return err_field(e, "encoding", "must be utf-8 or base64");
	return 0;
}

int
api_process_stream(struct call *c, struct err *e)
{
	struct follow f = { .call = c };
	int64_t asked;
	int rc = -1;

	if (api_process_find(c, &f.process, e) < 0)
		return -1;
	if (asked_offset(c, call_param(c, "HTTP_LAST_EVENT_ID"), &asked, e) ==
		0 &&
	    asked_encoding(c, &f.base64, e) == 0 &&
	    process_watch(f.process, &f.watch, e) == 0) {
		stream(&f, asked);
		process_unwatch(f.process, &f.watch);
		rc = 0;
	}
	process_release(f.process);
	return rc;
}
