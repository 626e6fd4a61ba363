/*
 * seals.h: the generations that are over, so that none of them is launched late.
 *
 * Every stop seals a generation, and a sandbox may live for years, so not all
 * are remembered: each session is kept with the last of its generations, and
 * where there is no room the oldest is forgotten.  What was forgotten still
 * holds, by time: a launch of a sealed generation was intended before the seal
 * was made, so whatever was intended before the latest seal that was forgotten
 * is refused.  Who is refused without need intends the next generation, later.
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
	int64_t at_ms; /* of clock_ms() */
};

struct seals {
	struct seal seal[SEAL_SETS][SEAL_WAYS]; /* by the session's hash */
	int64_t forgotten_ms; /* the latest that was forgotten; 0: none */
};

/* Generations of the session up to this one are over. */
void seals_put(struct seals *s, const char *session, int64_t generation,
    int64_t now_ms);

/* The highest one that is known to be over, 0: none. */
int64_t seals_get(const struct seals *s, const char *session);

/* Whether a launch may be of a generation that is over. */
bool seals_hold(const struct seals *s, const char *session, int64_t generation,
    int64_t intent_ms);

#endif
