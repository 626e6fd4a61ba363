/*
 * answer.h: follows an answer as it passes, and makes its last event.
 *
 * Knows of an answer whether it is an event stream, and whether it is between
 * two events, where the pool may add a comment or an event.  Pure.
 *
 * The events themselves are not parsed, as common/sse_read.h does: that would
 * keep an event in memory for every stream of the pool.
 */
#ifndef SANDLEASE_API_STREAM_ANSWER_H
#define SANDLEASE_API_STREAM_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

#include "common/str.h"

enum { ANSWER_LINE_MAX = 64 }; /* bytes of a header line that are kept */

/* Start with { 0 }. */
struct stream_answer {
	char line[ANSWER_LINE_MAX];
	size_t line_len;
	bool body;    /* the header is complete */
	bool events;  /* Content-Type: text/event-stream */
	int newlines; /* at the end of the body so far; at most 2 */
};

/* Follows the next bytes of the answer; the header comes first. */
void answer_see(struct stream_answer *a, const char *data, size_t len);

/* Whether the answer is an event stream and its header is complete. */
bool answer_streams(const struct stream_answer *a);

/* Whether the pool may add a comment or an event here. */
bool answer_between_events(const struct stream_answer *a);

/*
 * Makes the last event of a stream whose wrapper cannot send one: an error with
 * the members of every kind of stream.  Two newlines separate it from an event
 * that was cut in the middle.
 */
void answer_last_words(const struct stream_answer *a, enum err_code code,
    const char *message, struct buf *out);

/* Makes a whole answer: 503, retryable, in the data plane's error format. */
void answer_busy(const char *message, struct buf *out);

#endif
