/*
 * output.h: the output of an execution that has ended, as it is kept: bytes, and
 * the times of their runs.
 *
 * A run is bytes of one stream that came together.  The agent writes its times
 * (src/agent/attempt/journal.h: struct journal_entry); a tenant may have changed
 * them, so anything is a valid list.
 */
#ifndef SANDLEASE_DOMAIN_OUTPUT_H
#define SANDLEASE_DOMAIN_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

#include "common/json.h"
#include "common/str.h"
#include "common/utf8.h"

enum { OUTPUT_STDOUT, OUTPUT_STDERR };

enum { OUTPUT_RUN_MAX = 64 * 1024 };

/* Borrowed.  Offsets count from the first byte of all output, kept or not. */
struct output {
	const char *log; /* the kept bytes */
	size_t log_len;
	const char *times; /* as the agent wrote them */
	size_t times_len;
	int64_t first; /* offset of log[0] */
};

/* The offset after the last byte. */
int64_t output_end(const struct output *o);

/* One run, as far as it is kept; of a long one at most OUTPUT_RUN_MAX bytes. */
struct output_run {
	const char *data;
	size_t len;
	int64_t offset; /* of data[0] */
	int64_t ms;     /* since the execution began */
	int stream;
};

/* A place in the output; begin with {0}. */
struct output_at {
	size_t entry;
	int64_t offset;
	int64_t left; /* of the run before, which was too long */
	int64_t ms;
	int stream;
};

/* The next run at or after *at.  False at the end. */
bool output_next(const struct output *o, struct output_at *at,
    struct output_run *out);

/*
 * Makes [{"stream": "stdout", "data": "..."}, ...] of runs.  Those of one stream
 * that follow each other become one, and halves of a character are joined.
 * Begin with {.only = STREAM}, or -1 for both.
 */
struct output_list {
	int only;
	json_t *list;
	struct buf text; /* of the runs that follow each other */
	int stream;      /* theirs */
	bool passed;     /* the last run was of the other stream, not wanted */
	struct utf8_tail tail[2];
};

void output_list_add(struct output_list *l, int stream, const char *data,
    size_t len);

/*
 * How many bytes at the end of the last run are the beginning of a character;
 * they are then left out.  For output that goes on.
 */
size_t output_list_hold(struct output_list *l);

/* Ends the list, which the caller owns; *l is empty. */
json_t *output_list_end(struct output_list *l);

/*
 * The same of what is kept: at most `max` bytes from `offset` on, and less if
 * the stream changes often; `only` one stream, or -1.  *next is the offset
 * after them.
 */
json_t *output_json(const struct output *o, int64_t offset, size_t max,
    int only, int64_t *next);

/* The head of a recording. */
struct recording_head {
	const char *title;
	int64_t began; /* seconds since 1970 */
};

/*
 * Passes the recording in asciicast v2 on, line by line: a header, then a line
 * for each run.  Ends early when `line` returns false.
 */
typedef bool output_line_fn(void *ctx, const char *line, size_t len);
void output_recording(const struct output *o, const struct recording_head *h,
    output_line_fn *line, void *ctx);

#endif
