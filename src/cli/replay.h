/*
 * replay.h: removes questions to the terminal from old output.
 *
 * A program can ask the terminal what it is, and the terminal sends the answer
 * as if the user had typed it.  `sandlease shell` shows the output from before
 * it connected.  A question in that output already has its answer: a second
 * answer would go to the program that runs now, as input.
 */
#ifndef SANDLEASE_CLI_REPLAY_H
#define SANDLEASE_CLI_REPLAY_H

#include "common/str.h"

enum { REPLAY_HELD_MAX = 512 }; /* no question is longer */

/* Start with { 0 }. */
struct replay {
	char held[REPLAY_HELD_MAX]; /* a sequence that is not complete */
	size_t len;
};

/* Appends the bytes of old output to `out`, without questions. */
void replay_add(struct replay *r, const char *data, size_t len,
    struct buf *out);

/* Ends the old output: appends an incomplete sequence that was held back. */
void replay_end(struct replay *r, struct buf *out);

#endif
