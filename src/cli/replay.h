/*
 * replay.h: what a terminal showed before we came.
 *
 * Programs ask a terminal what it is, and it answers as if somebody typed.
 * When old output is shown again those questions are left out: who asked has
 * had the answer, and a second one would be typed into whatever runs now.
 */
#ifndef SANDLEASE_CLI_REPLAY_H
#define SANDLEASE_CLI_REPLAY_H

#include "common/str.h"

enum { REPLAY_HELD_MAX = 512 }; /* no question is longer */

/* { 0 } before. */
struct replay {
	char held[REPLAY_HELD_MAX]; /* a sequence that is not complete */
	size_t len;
};

/* Appends the bytes to `out`, but for questions. */
void replay_add(struct replay *r, const char *data, size_t len,
    struct buf *out);

/* Appends what is held back: from now on everything is new. */
void replay_end(struct replay *r, struct buf *out);

#endif
