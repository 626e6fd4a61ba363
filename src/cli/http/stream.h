/*
 * stream.h: an event stream, followed to its end.
 *
 * A connection that breaks is made again, behind the last event that was
 * taken, with pauses that grow; one that stays away is given up.  When there
 * is nothing more to hear is for the caller to know.
 */
#ifndef SANDLEASE_CLI_HTTP_STREAM_H
#define SANDLEASE_CLI_HTTP_STREAM_H

#include "cli/http/transfer.h"
#include "common/sse_read.h"

/* Told when the connection is lost, and when it is there again. */
typedef void stream_told_fn(void *ctx, bool lost);

/* Start with the first part, and sse's event and ctx. */
struct stream {
	struct client *client;
	const char *path;     /* borrowed */
	const json_t *body;   /* or NULL: a POST, which is not done again */
	int patience_ms;      /* with a connection that stays away */
	stream_told_fn *told; /* or NULL; its ctx is that of sse */
	struct sse_read sse;
	/* the rest is the stream's own */
	struct transfer *transfer;
	char last_id[SSE_READ_ID_MAX + 32];
	int64_t retry_at, lost_since; /* of clock_ms(); 0: now, never */
	int pause_ms;
	bool unreadable; /* an event was too long, or the caller said stop */
};

/* Connects when it is time to, and looks what became of it. */
int stream_move(struct stream *s, struct err *e) MUST_CHECK;

/* When stream_move has to be called again at the latest, for client_wait(). */
int stream_wait_ms(const struct stream *s);

/* True from the end of a connection to the next one that says something. */
bool stream_lost(const struct stream *s);

void stream_free(struct stream *s);

#endif
