/*
 * process_logs.c: sends the output of a process, once or as a stream
 * (api/process/{id}/logs and api/process/{id}/stream).
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/api/request.h"
#include "agent/api/routes.h"
#include "agent/process/process.h"
#include "agent/run/activity.h"
#include "common/base64.h"
#include "common/clock.h"
#include "common/mem.h"
#include "common/utf8.h"
#include "web/sse.h"

enum {
	OFFSET_TEXT_MAX = 24,
	QUIET_MS = 50 /* a part of a line is held back for this time */
};

static const char *const STREAM_NAMES[] = { "stdout", "stderr" };

/* ---- where to begin */

static int
take_offset(const char *text, const char *field, int64_t *out, struct err *e)
{
	if (!str_to_int(text, 0, INT64_MAX, out))
		return err_field(e, field, "must be an offset in bytes");
	return 0;
}

/* Reads the offset from Last-Event-ID (`header`) or the query; 0 if absent. */
static int
read_offset(struct call *c, const char *header, int64_t *out, struct err *e)
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

/*
 * The offset to begin at.  One beyond the end comes from an earlier process
 * with the same id, so the log is sent from its beginning.
 */
static int64_t
begin_at(const struct ring *log, int64_t asked)
{
	int64_t first = ring_first(log);

	if (asked > atomic_load(&log->total))
		asked = 0;
	return asked > first ? asked : first;
}

/* ---- logs */

/*
 * Writes the output of the stream `wanted` between two offsets.  If output of
 * the other stream lies between the halves of a character, they are joined.
 */
static void
write_stream(struct call *c, const struct ring *log, int64_t from, int64_t to,
    enum ring_stream wanted)
{
	auto_free struct ring_block *b = xmalloc(sizeof(*b));
	auto_buf struct buf text = { 0 };
	struct utf8_tail tail = { .len = 0 };

	while (from < to && !c->gone && ring_read(log, from, b)) {
		enum ring_stream which;

		if (b->offset >= to)
			break;
		if ((int64_t)b->len > to - b->offset)
			b->len = (size_t)(to - b->offset);
		for (size_t at = 0, n; at < b->len; at += n) {
			n = ring_run(b, at, &which);
			if (which != wanted)
				continue;
			text.len = 0;
			utf8_join(&tail, b->data + at, n, &text);
			request_write_text(c, text.data, text.len);
		}
		from = b->offset + (int64_t)b->len;
	}
	request_write_text(c, tail.bytes, tail.len);
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

static bool
ends_within_character(const struct ring *log, struct ring_block *b)
{
	int64_t total = atomic_load(&log->total);
	enum ring_stream which;
	size_t at = 0, n;

	if (!ring_read(log, total > UTF8_LEN_MAX ? total - UTF8_LEN_MAX : 0, b))
		return false;
	while (n = ring_run(b, at, &which), at + n < b->len)
		at += n;
	return utf8_whole(b->data + at, n) < n;
}

/*
 * If the log ends within a character, waits up to QUIET_MS for the rest.
 * Otherwise a client that polls could get the two halves in two answers.
 */
static void
await_character(struct process *p, const struct ring *log)
{
	auto_free struct ring_block *b = xmalloc(sizeof(*b));
	int64_t end_ms = clock_ms() + QUIET_MS;
	struct child_watch w;
	struct err ignored;

	if (!ends_within_character(log, b) ||
	    process_watch(p, &w, &ignored) < 0)
		return;
	do {
		struct pollfd f = { w.fd, POLLIN, 0 };
		uint64_t count;

		(void)poll(&f, 1, clock_left_ms(end_ms));
		(void)!read(w.fd, &count, sizeof(count));
	} while (process_now(p).status == PROCESS_RUNNING &&
	    clock_left_ms(end_ms) > 0 && ends_within_character(log, b));
	process_unwatch(p, &w);
}

int
api_process_logs(struct call *c, struct err *e)
{
	const struct ring *log;
	struct process *p;
	int64_t asked;

	if (api_process_find(c, &p, e) < 0)
		return -1;
	if (read_offset(c, "", &asked, e) < 0) {
		process_release(p);
		return -1;
	}
	log = process_log_begin(p);
	if (process_now(p).status == PROCESS_RUNNING)
		await_character(p, log);
	write_logs(c, p, log, asked);
	process_log_end(p);
	process_release(p);
	return 0;
}

/* ---- the stream */

struct log_stream {
	struct call *call;
	struct process *process;
	const struct ring *log;
	struct child_watch watch;
	struct ring_block *block;
	struct buf event;
	int64_t pos;     /* offset of the first byte that was not sent */
	int64_t lost;    /* log->lost as last reported to the client */
	int64_t grown;   /* log->total at the last check */
	int64_t grew_ms; /* when log->total was last seen to grow */
	int64_t hold_ms; /* a part of a line is held until then; 0: none */
	bool base64;     /* bytes that may be no text: nothing is held */
	struct buf text; /* of one event */
	/* part of a character, followed by output of the other stream */
	struct utf8_tail tail[2];
	int64_t tail_ms; /* the tails are held until then; 0: there are none */
};

/*
 * Begins an event, which close_event() ends and sends.  Its id is the offset at
 * which the next event begins: a client that reconnects sends it back.
 */
static void
open_event(struct log_stream *f, const char *type, bool counted)
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
close_event(struct log_stream *f)
{
	buf_str(&f->event, "}\n\n");
	call_write(f->call, f->event.data, f->event.len);
}

static void
send_info(struct log_stream *f, int64_t asked)
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
send_dropped(struct log_stream *f, int64_t bytes)
{
	open_event(f, "dropped", true);
	buf_fmt(&f->event, ",\"bytes\":%lld", (long long)bytes);
	close_event(f);
}

static void
skip_to(struct log_stream *f, int64_t offset)
{
	int64_t bytes = offset - f->pos;

	f->pos = offset;
	if (bytes > 0)
		send_dropped(f, bytes);
}

static void
send_output(struct log_stream *f, enum ring_stream which, const char *data,
    size_t len)
{
	if (len == 0)
		return;
	open_event(f, STREAM_NAMES[which], true);
	buf_str(&f->event, ",\"data\":\"");
	if (f->base64)
		base64_encode(&f->event, data, len);
	else
		utf8_json(&f->event, data, len);
	buf_str(&f->event, "\"");
	close_event(f);
}

/*
 * Sends a run of bytes of one stream.  `more`: output of the other stream
 * follows in the log.  If that cuts a character in two, the halves are joined,
 * because each alone is not valid text.
 */
static void
send_run(struct log_stream *f, enum ring_stream which, const char *data,
    size_t len, bool more)
{
	struct utf8_tail *tail = &f->tail[which];

	f->pos += (int64_t)len;
	f->hold_ms = 0;
	if (f->base64 || (tail->len == 0 && !more)) {
		send_output(f, which, data, len);
		return;
	}
	f->text.len = 0;
	utf8_join(tail, data, len, &f->text);
	if (!more) {
		buf_add(&f->text, tail->bytes, tail->len);
		tail->len = 0;
	}
	if (tail->len > 0 && f->tail_ms == 0)
		f->tail_ms = clock_ms() + QUIET_MS;
	send_output(f, which, f->text.data, f->text.len);
}

static int
wait_ms(const struct log_stream *f)
{
	int64_t until = f->hold_ms;

	if (f->tail_ms > 0 && (until == 0 || f->tail_ms < until))
		until = f->tail_ms;
	return until > 0 ? clock_left_ms(until) : -1;
}

/* How much of the newest output may be sent; the rest is held back. */
enum part { PART_LINES, PART_CHARACTERS, PART_ALL };

static size_t
part_of(enum part part, const char *text, size_t len)
{
	const char *nl = part == PART_LINES ? memrchr(text, '\n', len) : NULL;

	switch (part) {
	case PART_LINES:
		return nl != NULL ? (size_t)(nl - text) + 1 : 0;
	case PART_CHARACTERS:
		return utf8_whole(text, len);
	case PART_ALL:
	default:
		return len;
	}
}

/*
 * Sends the block, but of its last run only `part`.  False when bytes are left.
 */
static bool
send_block(struct log_stream *f, enum part part)
{
	const struct ring_block *b = f->block;

	for (size_t at = 0, n; at < b->len; at += n) {
		enum ring_stream which;
		size_t send;

		n = send = ring_run(b, at, &which);
		if (at + n == b->len)
			send = part_of(part, b->data + at, n);
		if (send > 0)
			send_run(f, which, b->data + at, send, at + n < b->len);
		if (send < n)
			return false;
	}
	return true;
}

/*
 * A part of a line is held until hold_ms.  A part of a character is held until
 * QUIET_MS after the log grew.
 */
static enum part
due_part(const struct log_stream *f)
{
	if (f->base64)
		return PART_ALL;
	if (f->hold_ms == 0 || clock_left_ms(f->hold_ms) > 0)
		return PART_LINES;
	return clock_left_ms(f->grew_ms + QUIET_MS) > 0 ? PART_CHARACTERS
							: PART_ALL;
}

static void
hold_rest(struct log_stream *f, enum part part, bool some)
{
	if (!some)
		f->hold_ms = 0;
	else if (part == PART_CHARACTERS)
		f->hold_ms = f->grew_ms + QUIET_MS;
	else if (f->hold_ms == 0)
		f->hold_ms = clock_ms() + QUIET_MS;
}

/* Sends the output that is new. */
static void
send_new(struct log_stream *f, enum part part)
{
	/* read before the ring is: later bytes are new, and not lost */
	int64_t total = atomic_load(&f->log->total), lost;
	bool went = true;

	if (total > f->grown)
		f->grew_ms = clock_ms();
	f->grown = total;
	while (went && !f->call->gone && ring_read(f->log, f->pos, f->block)) {
		const struct ring_block *b = f->block;
		bool last =
		    b->offset + (int64_t)b->len == atomic_load(&f->log->total);

		skip_to(f, b->offset);
		went = send_block(f, last ? part : PART_ALL);
		total = atomic_load(&f->log->total);
	}
	if (went) /* bytes that the ring no longer has are lost */
		skip_to(f, total);
	if (part == PART_ALL ||
	    (f->tail_ms > 0 && clock_left_ms(f->tail_ms) == 0)) {
		/* the rest of these characters has not come in time */
		for (int i = 0; i < 2; i++) {
			send_output(f, (enum ring_stream)i, f->tail[i].bytes,
			    f->tail[i].len);
			f->tail[i].len = 0;
		}
		f->tail_ms = 0;
	}
	hold_rest(f, part, !went);
	lost = atomic_load(&f->log->lost);
	if (lost > f->lost)
		send_dropped(f, lost - f->lost);
	f->lost = lost;
	call_flush(f->call);
}

static void
follow_log(struct log_stream *f)
{
	struct process_end now;

	do {
		/* status first: all output before the end is in the log then */
		now = process_now(f->process);
		send_new(f,
		    now.status != PROCESS_RUNNING ? PART_ALL : due_part(f));
	} while (now.status == PROCESS_RUNNING &&
	    sse_wait(f->call, f->watch.fd, wait_ms(f)));
	if (now.status == PROCESS_RUNNING ||
	    request_session_end(f->call,
		json_pack("{s:s, s:i}", "processId", process_id(f->process),
		    "exitCode", now.exit_code)))
		return;
	open_event(f, "exit", true);
	buf_fmt(&f->event,
	    ",\"exitCode\":%d,\"data\":\"Process %s with exit code %d\"",
	    now.exit_code, PROCESS_STATUS_NAMES[now.status], now.exit_code);
	close_event(f);
	call_flush(f->call);
}

static void
serve_stream(struct log_stream *f, int64_t asked)
{
	auto_free struct ring_block *block = xmalloc(sizeof(*block));

	f->block = block;
	f->log = process_log_begin(f->process);
	f->pos = begin_at(f->log, asked);
	activity_begin(ACTIVITY_STREAMS);
	sse_begin(f->call);
	send_info(f, asked);
	follow_log(f);
	activity_end(ACTIVITY_STREAMS);
	process_log_end(f->process);
	buf_free(&f->event);
	buf_free(&f->text);
}

/* Reads ?encoding=base64. */
static int
read_encoding(struct call *c, bool *base64, struct err *e)
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
	struct log_stream f = { .call = c };
	int64_t asked;
	int rc = -1;

	if (api_process_find(c, &f.process, e) < 0)
		return -1;
	if (read_offset(c, call_param(c, "HTTP_LAST_EVENT_ID"), &asked, e) ==
		0 &&
	    read_encoding(c, &f.base64, e) == 0 &&
	    process_watch(f.process, &f.watch, e) == 0) {
		serve_stream(&f, asked);
		process_unwatch(f.process, &f.watch);
		rc = 0;
	}
	process_release(f.process);
	return rc;
}
