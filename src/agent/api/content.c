/* content.c: writes and reads files (POST api/write, read, read/stream). */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "agent/api/request.h"
#include "agent/api/routes.h"
#include "agent/api/target.h"
#include "agent/base/lock.h"
#include "agent/files/files.h"
#include "agent/files/temp_file.h"
#include "agent/files/view.h"
#include "agent/run/activity.h"
#include "common/base64.h"
#include "common/clock.h"
#include "common/mem.h"
#include "common/utf8.h"
#include "web/sse.h"

enum {
	READ_MAX = 32 * 1024 * 1024,
	/* clients restore an archive of 40 MiB with one call */
	WRITE_MAX = 64 * 1024 * 1024,
	SMALL_BODY = 1024 * 1024
};

enum encoding { ENC_UTF8, ENC_UTF_8, ENC_BASE64, ENC_ABSENT = -1 };
static const char *const ENCODINGS[] = { "utf8", "utf-8", "base64", NULL };

struct content_options {
	int encoding;
};

static const struct jfield OPTIONS[] = {
	JFIELD_ENUM("encoding", struct content_options, encoding, 0, ENCODINGS,
	    "how content is encoded"),
};

static int
read_options(struct call *c, const json_t *body, const char *operation,
    struct target *t, struct content_options *o, struct err *e)
{
	o->encoding = ENC_ABSENT;
	if (target_take(c, body, "path", operation, t, e) < 0)
		return -1;
	return jfield_decode(body, OPTIONS, ARRAY_LEN(OPTIONS), J_LENIENT, o,
	    e);
}

/* ---- write */

static int
set_too_large(struct call *c, const struct target *t, int64_t actual,
    struct err *e)
{
	err_set(e, ERR_TOO_LARGE, CODE_FILE_TOO_LARGE,
	    "%lld bytes are more than the %d that can be written at once",
	    (long long)actual, WRITE_MAX);
	return target_too_large(c, t, WRITE_MAX, actual, e);
}

static int
write_content(struct call *c, const json_t *body, struct temp_file_source from,
    struct err *e)
{
	auto_buf struct buf decoded = { 0 };
	struct content_options o;
	struct target t;

	if (read_options(c, body, "file.write", &t, &o, e) < 0)
		return -1;
	if (from.data == NULL)
		return err_field(e, "content", "must be a string");
	if (o.encoding == ENC_BASE64) {
		if (!base64_decode(&decoded, from.data, from.len))
			return err_field(e, "content", "is not valid base64");
		from.data = decoded.data;
		from.len = decoded.len;
	}
	if (from.len > WRITE_MAX)
		return set_too_large(c, &t, (int64_t)from.len, e);
	if (temp_file_write_file(t.where, &from, -1, e) < 0)
		return -1;
	target_reply(c, &t, NULL);
	return 0;
}

static int
write_body(struct call *c, struct err *e)
{
	auto_json json_t *body = NULL;
	auto_buf struct buf text = { 0 };
	struct temp_file_source from = { .fd = -1 };
	struct bigjson_value content;
	const struct api_request *s = c->context;

	if (request_large_body(c, API_WRITE_BODY_MAX, "content", &text,
		&content, &body, e) == 0) {
		const json_t *parsed = json_object_get(body, "content");

		from.data = content.at > 0 ? text.data + content.at
					   : json_string_value(parsed);
		from.len =
		    content.at > 0 ? content.len : json_string_length(parsed);
		return write_content(c, body, from, e);
	}
	if (e->kind != ERR_TOO_LARGE)
		return -1;
	/* the body was not parsed, so the path is not known */
	return set_too_large(c,
	    &(struct target){ .path = "", .operation = "file.write" },
	    s->body_bytes, e);
}

int
api_write(struct call *c, struct err *e)
{
	static struct lock one_large = LOCK_INIT(LOCK_LARGE_WRITE);
	int64_t len;
	bool large =
	    !str_to_int(call_param(c, "CONTENT_LENGTH"), 0, SMALL_BODY, &len);
	int rc;

	/*
	 * a large body is in memory twice, as text and decoded: one at a time
	 */
	if (large)
		lock_take(&one_large);
	rc = write_body(c, e);
	if (large)
		lock_drop(&one_large);
	return rc;
}

/* ---- read */

/* Writes JSON by hand: as a JSON value a large file would be copied. */
static void
send_content(struct call *c, const struct target *t, const struct view *v,
    bool text)
{
	auto_blocks struct blocks b = view_blocks(v, text);
	auto_buf struct buf out = { 0 };
	char at[CLOCK_ISO_MAX];
	int64_t size = 0;
	const char *data;
	ssize_t n;

	buf_str(&out, "{\"success\":true,\"path\":\"");
	utf8_json(&out, t->path, strlen(t->path));
	buf_fmt(&out,
	    "\",\"encoding\":\"%s\",\"isBinary\":%s,\"mimeType\":\"%s\","
	    "\"content\":\"",
	    text ? "utf-8" : "base64", text ? "false" : "true", v->type);
	call_begin(c, 200, "application/json");
	while ((n = blocks_next(&b, &data)) > 0 && !c->gone) {
		if (text)
			utf8_json(&out, data, (size_t)n);
		else
			base64_encode(&out, data, (size_t)n);
		call_write(c, out.data, out.len);
		out.len = 0;
		size += n;
	}
	if (n < 0) {
		call_cut(c);
		return;
	}
	clock_iso(at);
	/* `size` is what was sent: the file may have shrunk meanwhile */
	buf_fmt(&out, "\",\"size\":%lld,\"timestamp\":\"%s\"", (long long)size,
	    at);
	request_add_ignored(c, &out);
	buf_str(&out, "}");
	call_write(c, out.data, out.len);
}

static bool
always_go_on(void *ctx)
{
	(void)ctx;
	return true;
}

static bool
goes_as_text(const struct view *v, int encoding)
{
	if (encoding == ENC_ABSENT)
		return view_is_text(v, always_go_on, NULL);
	/* the oldest clients always send "utf8", for pictures, too */
	if (encoding == ENC_UTF8)
		return view_is_utf8(v, always_go_on, NULL);
	return encoding == ENC_UTF_8;
}

int
api_read(struct call *c, struct err *e)
{
	auto_json json_t *body = NULL;
	auto_view struct view v = { .fd = -1 };
	struct content_options o;
	struct target t;

	if (request_body(c, TARGET_BODY_MAX, &body, e) < 0 ||
	    read_options(c, body, "file.read", &t, &o, e) < 0 ||
	    view_open(t.where, &v, e) < 0)
		return -1;
	if (view_settle(t.where, READ_MAX, &v, e) < 0)
		return target_too_large(c, &t, READ_MAX, v.size, e);
	send_content(c, &t, &v, goes_as_text(&v, o.encoding));
	return 0;
}

/* ---- stream */

struct file_stream {
	struct call *call;
	struct buf event;
	int64_t beat_ms; /* of clock_ms(): the next heartbeat */
};

static bool
flush_stream(struct file_stream *s)
{
	s->beat_ms = clock_ms() + SSE_HEARTBEAT_MS;
	return call_flush(s->call) == 0;
}

/*
 * Sends a heartbeat when one is due.  Also a callback for view_is_text(), which
 * reads the whole file first.  False when the client has gone.
 */
static bool
send_heartbeat_if_due(void *ctx)
{
	struct file_stream *s = ctx;

	if (clock_left_ms(s->beat_ms) > 0)
		return true;
	s->beat_ms = clock_ms() + SSE_HEARTBEAT_MS;
	return sse_heartbeat(s->call) == 0;
}

/* False when the client has gone. */
static bool
wait_for_more(struct file_stream *s, int fd)
{
	struct pollfd f[] = { { .fd = fd, .events = POLLIN },
		{ .fd = call_fd(s->call), .events = POLLRDHUP } };

	for (;;) {
		int n = poll(f, ARRAY_LEN(f), clock_left_ms(s->beat_ms));

		if (f[1].revents != 0)
			return false;
		if (f[0].revents != 0)
			return true;
		if (n == 0 && !send_heartbeat_if_due(s))
			return false;
	}
}

static bool
send_chunk(struct file_stream *s, bool text, const char *data, size_t len)
{
	s->event.len = 0;
	buf_str(&s->event, "data: {\"type\":\"chunk\",\"data\":\"");
	if (text)
		utf8_json(&s->event, data, len);
	else
		base64_encode(&s->event, data, len);
	buf_str(&s->event, "\"}\n\n");
	call_write(s->call, s->event.data, s->event.len);
	activity_touch();
	return flush_stream(s);
}

/* Sends all chunks and returns how many bytes they had; -1 with errno. */
static int64_t
send_chunks(struct file_stream *s, const struct view *v, bool text)
{
	auto_blocks struct blocks b = view_blocks(v, text);
	int64_t sent = 0;
	const char *data;
	ssize_t n;

	/* a fifo without a writer yet would read as end of file */
	if (!v->regular && !wait_for_more(s, v->fd))
		return 0;
	while ((n = blocks_next(&b, &data)) != 0) {
		if (n > 0)
			sent += n;
		else if (errno != EAGAIN)
			return -1;
		if (n > 0 ? !send_chunk(s, text, data, (size_t)n)
			  : !wait_for_more(s, v->fd))
			return sent;
	}
	return sent;
}

static int
stream_file(struct file_stream *s, const struct target *t, struct err *e)
{
	auto_view struct view v = { .fd = -1 };
	auto_json json_t *metadata = NULL;
	auto_json json_t *complete = NULL;
	int64_t sent;
	bool text;

	if (view_open(t->where, &v, e) < 0)
		return -1;
	text = view_is_text(&v, send_heartbeat_if_due, s);
	metadata = json_pack("{s:s, s:s, s:I, s:b, s:s}", "type", "metadata",
	    "mimeType", v.type, "size", (json_int_t)v.size, "isBinary",
	    (int)!text, "encoding", text ? "utf-8" : "base64");
	sse_event(s->call, metadata);
	sent = send_chunks(s, &v, text);
	if (sent < 0)
		return files_fail(e, t->where);
	complete = json_pack("{s:s, s:I}", "type", "complete", "bytesRead",
	    (json_int_t)sent);
	sse_event(s->call, complete);
	return 0;
}

int
api_read_stream(struct call *c, struct err *e)
{
	auto_json json_t *body = NULL;
	struct file_stream s = { .call = c };
	struct target t;

	if (request_body(c, TARGET_BODY_MAX, &body, e) < 0 ||
	    target_take(c, body, "path", "file.read", &t, e) < 0)
		return -1;
	activity_begin(ACTIVITY_STREAMS);
	sse_begin(c);
	flush_stream(&s);
	/* every error is an event of the stream, as SDKs expect */
	if (stream_file(&s, &t, e) < 0) {
		auto_json json_t *event =
		    json_pack("{s:s, s:s}", "type", "error", "error", e->msg);

		sse_event(c, event);
	}
	activity_end(ACTIVITY_STREAMS);
	buf_free(&s.event);
	return 0;
}
