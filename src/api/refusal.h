/*
 * refusal.h: why the gate refused a request, in full.
 *
 * The pool `auth` tells nginx a word; nginx brings it back for the answer.
 */
#ifndef SANDLEASE_API_REFUSAL_H
#define SANDLEASE_API_REFUSAL_H

#include "common/err.h"

/* What the word means.  One that nobody knows is an internal error. */
void refusal_read(const char *why, struct err *e);

#endif
