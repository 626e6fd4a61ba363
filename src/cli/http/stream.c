/* stream.c: follows an event stream, and connects again if it breaks. */
#include "cli/http/stream.h"

#include <stdio.h>

#include "common/clock.h"

enum { PAUSE_MS = 250, PAUSE_MS_MAX = 4000, EVENT_MAX = 8 * 1024 * 1024 };

bool
stream_lost(const struct stream *s)
{
	return s->lost_since > 0;
}

/* Notes whether the connection is lost, and tells the caller of a change. */
static void
set_lost(struct stream *s, bool lost)
{
	if (lost == stream_lost(s))
		return;
	s->lost_since = lost ? clock_ms() : 0;
	if (s->told != NULL)
		s->told(s->sse.ctx, lost);
}

static bool
take_bytes(void *ctx, const char *data, size_t len)
{
	struct stream *s = ctx;

	set_lost(s, false);
	s->pause_ms = PAUSE_MS;
	s->unreadable = !sse_read_feed(&s->sse, data, len);
	return !s->unreadable;
}

static void
begin_transfer(struct stream *s)
{
	struct request r = { .path = s->path,
		.sink = take_bytes,
		.ctx = s,
		.endless = true };

	s->sse.max = EVENT_MAX;
	sse_read_restart(&s->sse);
	if (s->body != NULL) {
		r.method = "POST";
		r.json = s->body;
	}
	if (s->sse.id[0] != '\0') {
		snprintf(s->last_id, sizeof(s->last_id), "Last-Event-ID: %s",
		    s->sse.id);
		r.header = s->last_id;
	}
	s->transfer = transfer_begin(s->client, &r);
}

/* Decides after the end of a connection: 0 to connect again, -1 to give up.
 * A refusal is final, except ERR_UNAVAILABLE of a GET. */
static int
check_end(struct stream *s, int rc, struct err *e)
{
	if (s->unreadable)
		return err_set(e, ERR_BAD_GATEWAY, CODE_UNREADABLE,
		    "an event is longer than can be read");
	if (rc < 0 && (s->body != NULL || e->kind != ERR_UNAVAILABLE))
		return -1;
	if (s->body != NULL)
		return err_set(e, ERR_UNAVAILABLE, CODE_BROKEN,
		    "the connection ended before the command did");
	if (!stream_lost(s) || clock_ms() - s->lost_since <= s->patience_ms)
		return 0;
	if (rc < 0)
		return err_wrap(e, "the connection is lost");
	return err_set(e, ERR_UNAVAILABLE, CODE_BROKEN,
	    "the connection is lost");
}

static void
pause_before_next(struct stream *s)
{
	if (s->pause_ms == 0)
		s->pause_ms = PAUSE_MS;
	s->retry_at = clock_ms() + s->pause_ms;
	s->pause_ms =
	    s->pause_ms * 2 < PAUSE_MS_MAX ? s->pause_ms * 2 : PAUSE_MS_MAX;
}

int
stream_move(struct stream *s, struct err *e)
{
	int rc;

	if (s->transfer == NULL && clock_left_ms(s->retry_at) == 0)
		begin_transfer(s);
	if (s->transfer == NULL || !transfer_done(s->transfer))
		return 0;
	rc = transfer_result(s->transfer, NULL, e);
	transfer_free(s->transfer);
	s->transfer = NULL;
	if (check_end(s, rc, e) < 0)
		return -1;
	set_lost(s, true);
	pause_before_next(s);
	return 0;
}

int
stream_wait_ms(const struct stream *s)
{
	return s->transfer == NULL ? clock_left_ms(s->retry_at) : -1;
}

void
stream_free(struct stream *s)
{
	transfer_free(s->transfer);
	sse_read_free(&s->sse);
}
