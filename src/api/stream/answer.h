/*
 * answer.h: what has been said on a stream, and its last words.
 *
 * Looks at an answer as it passes: is it an event stream, and is this a place
 * between two events, where something of ours may stand?  Pure.
 *
 * It does not read the events, as common/sse_read.h does: that would keep each
 * of them in memory, for every stream of the pool.
 */
#ifndef SANDLEASE_API_STREAM_ANSWER_H
#define SANDLEASE_API_STREAM_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

#include "common/str.h"

enum { ANSWER_LINE_MAX = 64 }; /* of a header as far as we look */

/* Start with { 0 }. */
struct answer {
	char line[ANSWER_LINE_MAX];
	size_t line_len;
	bool body;    /* the header is complete */
	bool events;  /* Content-Type: text/event-stream */
	int newlines; /* the body ends with so many, counted up to two */
};

/* Looks at the next bytes, which begin with the header. */
void answer_see(struct answer *a, const char *data, size_t len);

/* Whether it is an event stream that has begun. */
bool answer_streams(const struct answer *a);

/* Whether a comment may stand here. */
bool answer_between_events(const struct answer *a);

/*
 * The event that ends a stream whose wrapper cannot: an error in the words of
 * every kind of stream.  What was cut in the middle does not run into it.
 */
void answer_last_words(const struct answer *a, enum err_code code,
    const char *message, struct buf *out);

/* A whole answer: 503 in the data plane's error format; send it again. */
void answer_busy(const char *message, struct buf *out);

#endif
