/*
 * seals.h: remembers which generations are over, so that init can refuse a launch
 * of one of them that arrives late.
 *
 * Every stop seals a generation, and a sandbox may live for years, so the table
 * is bounded.  It keeps each session's highest sealed generation; when there is
 * no room, the oldest seal is dropped.  A dropped seal still holds, by time: a
 * launch of a sealed generation was intended before its seal was made.  So
 * seals_hold() refuses every launch that was intended before the latest dropped
 * seal.  It may refuse a valid launch; the control plane then tries the next
 * generation, and that intent is later than the seal.
 */
#ifndef SANDLEASE_AGENT_INIT_SEALS_H
#define SANDLEASE_AGENT_INIT_SEALS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/id.h"

enum { SEAL_SETS = 1024, SEAL_WAYS = 8 };

struct seal {
	char session[ID_SESSION_LEN + 1]; /* "": free */
	int64_t generation;
	int64_t at_ms; /* clock_ms() of the seal; 0: free */
};

struct seals {
	int64_t forgotten_ms; /* at_ms of the latest dropped seal; 0: none */
	struct seal seal[SEAL_SETS][SEAL_WAYS]; /* by the session's hash */
};

/* Seals the session's generations up to and including this one. */
void seals_put(struct seals *s, const char *session, int64_t generation,
    int64_t now_ms);

/* The highest sealed generation in the table; 0: none. */
int64_t seals_get(const struct seals *s, const char *session);

/* True when a launch must be refused: its generation is or may be sealed. */
bool seals_hold(const struct seals *s, const char *session, int64_t generation,
    int64_t intent_ms);

#endif
