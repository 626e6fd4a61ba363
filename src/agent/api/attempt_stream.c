/*
 * attempt_stream.c: streams the output of an attempt of an execution
 * (api/attempts/{id}/stream).
 *
 * An event's id is ATTEMPT.OFFSET: a client that comes back begins there, or
 * at the beginning of another attempt.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/api/request.h"
#include "agent/api/routes.h"
#include "agent/attempt/attempt.h"
#include "agent/run/activity.h"
#include "common/mem.h"
#include "common/utf8.h"
#include "web/sse.h"

struct attempt_stream {
	struct call *call;
	struct attempt_follower f;
	int64_t number; /* of the attempt */
	int64_t pos;    /* offset of the first byte that was not read */
	struct buf text;
	struct utf8_tail tail[2]; /* read, but not sent */
};

/* "ID.2" has number 2; a last event "2.500" of the same has offset 500. */
static int
read_place(struct call *c, const char *id, struct attempt_stream *s,
    struct err *e)
{
	const char *last = call_param(c, "HTTP_LAST_EVENT_ID");
	const char *dot = strchr(id, '.');
	char number[24];
	size_t len = strcspn(last, ".");
	int64_t attempt, offset;

	if (dot == NULL || !str_to_int(dot + 1, 1, INT32_MAX, &s->number))
		return err_set(e, ERR_NOT_FOUND, CODE_EXECUTION_NOT_FOUND,
		    "there is no such attempt");
	if (last[0] == '\0')
		return 0;
	if (last[len] != '.' || len >= sizeof(number) ||
	    !str_to_int(last + len + 1, 0, INT64_MAX, &offset))
		return err_field(e, "Last-Event-ID",
		    "must be the id of an event of this stream");
	memcpy(number, last, len);
	number[len] = '\0';
	if (str_to_int(number, 1, INT32_MAX, &attempt) && attempt == s->number)
		s->pos = offset;
	return 0;
}

/* One event, whose members begin with `type`; its id is where it ends. */
static void
send_event(struct attempt_stream *s, int64_t pos, const char *members)
{
	auto_buf struct buf event = { 0 };

	buf_fmt(&event, "id: %lld.%lld\ndata: {%s}\n\n", (long long)s->number,
	    (long long)pos, members);
	call_write(s->call, event.data, event.len);
}

/* Sends s->text, which ends at `pos`. */
static void
send_text(struct attempt_stream *s, enum ring_stream which, int64_t pos)
{
	auto_buf struct buf members = { 0 };

	if (s->text.len == 0)
		return;
	buf_fmt(&members, "\"type\":\"%s\",\"data\":\"",
	    which == RING_STDOUT ? "stdout" : "stderr");
	utf8_json(&members, s->text.data, s->text.len);
	buf_str(&members, "\"");
	send_event(s, pos, members.data);
}

static void
send_run(struct attempt_stream *s, enum ring_stream which, const char *data,
    size_t len)
{
	s->text.len = 0;
	utf8_join(&s->tail[which], data, len, &s->text);
	s->pos += (int64_t)len;
	/* a client that comes back gets the whole character */
	send_text(s, which, s->pos - (int64_t)s->tail[which].len);
}

static void
send_output(struct attempt_stream *s)
{
	auto_free struct ring_block *b = xmalloc(sizeof(*b));

	while (!s->call->gone && attempt_follow_read(&s->f, s->pos, b)) {
		s->pos = b->offset;
		for (size_t at = 0, n; at < b->len; at += n) {
			enum ring_stream which;

			n = ring_run(b, at, &which);
			send_run(s, which, b->data + at, n);
		}
	}
}

static void
send_end(struct attempt_stream *s)
{
	auto_buf struct buf members = { 0 };

	for (int i = 0; i < 2; i++) {
		s->text.len = 0;
		buf_add(&s->text, s->tail[i].bytes, s->tail[i].len);
		send_text(s, (enum ring_stream)i, s->pos);
	}
	buf_fmt(&members, "\"type\":\"end\",\"state\":\"%s\",\"exitCode\":",
	    ATTEMPT_REASON_NAMES[s->f.rec.reason]);
	if (s->f.rec.began > 0)
		buf_fmt(&members, "%d", s->f.rec.exit_code);
	else /* cancelled before */
		buf_str(&members, "null");
	send_event(s, s->pos, members.data);
	call_flush(s->call);
}

static void
follow(struct attempt_stream *s)
{
	bool ended;

	do {
		/* first the state: what is said before the end is in the log */
		attempt_follow_state(&s->f);
		ended = s->f.rec.state == ATTEMPT_ENDED;
		send_output(s);
		if (ended)
			send_end(s);
		call_flush(s->call);
	} while (!ended && !s->call->gone && sse_wait(s->call, s->f.news, -1));
}

int
api_attempt_stream(struct call *c, struct err *e)
{
	const char *id = call_var(c, "id");
	struct attempt_stream s = { .call = c };
	bool known;

	if (read_place(c, id, &s, e) < 0 ||
	    attempt_follow(id, &s.f, &known, e) < 0)
		return -1;
	if (!known)
		return err_set(e, ERR_NOT_FOUND, CODE_EXECUTION_NOT_FOUND,
		    "there is no such attempt");
	activity_begin(ACTIVITY_STREAMS);
	sse_begin(c);
	follow(&s);
	activity_end(ACTIVITY_STREAMS);
	attempt_unfollow(&s.f);
	buf_free(&s.text);
	return 0;
}
