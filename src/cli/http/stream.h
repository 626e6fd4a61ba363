/*
 * stream.h: follows an event stream, and connects again if it breaks.
 *
 * The next connection begins after the last event that was read.  Retries have
 * a back-off of 250 ms to 4 s.  After patience_ms without a connection the
 * stream fails.  The caller decides which event is the last one, and calls
 * stream_free() then.
 */
#ifndef SANDLEASE_CLI_HTTP_STREAM_H
#define SANDLEASE_CLI_HTTP_STREAM_H

#include "cli/http/transfer.h"
#include "common/sse_read.h"

/* Called when the connection is lost, and when events come again. */
typedef void stream_told_fn(void *ctx, bool lost);

/* The caller sets the members of the first part, sse.event and sse.ctx. */
struct stream {
	struct client *client;
	const char *path;     /* borrowed */
	const json_t *body;   /* a POST, which is never repeated; NULL: GET */
	int patience_ms;      /* how long to try to connect again */
	stream_told_fn *told; /* or NULL; called with sse.ctx */
	struct sse_read sse;
	/* private */
	struct transfer *transfer;
	char last_id[SSE_READ_ID_MAX + 32];
	int64_t retry_at;   /* by clock_ms(); 0: now */
	int64_t lost_since; /* by clock_ms(); 0: not lost */
	int pause_ms;
	bool unreadable; /* an event is too long, or sse.event returned false */
};

/* Connects if it is time to, and handles the end of a connection. */
int stream_move(struct stream *s, struct err *e) MUST_CHECK;

/* In how many milliseconds to call stream_move() again, for client_wait(). */
int stream_wait_ms(const struct stream *s);

/* True from the end of a connection to the first bytes of the next one. */
bool stream_lost(const struct stream *s);

void stream_free(struct stream *s);

#endif
