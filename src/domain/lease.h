/*
 * lease.h: who owns a session's wrapper, as data.
 *
 * Four states and the events that move between them.  The same rows stand in
 * the database (table lease_transition), where sql/functions/lease_apply.sql
 * applies them under the row's lock; t/sql/transitions.t holds the two
 * together.  Any other pair changes nothing and says so.
 */
#ifndef SANDLEASE_DOMAIN_LEASE_H
#define SANDLEASE_DOMAIN_LEASE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"

enum lease_state {
	LEASE_NONE,
	LEASE_OWNS_WRAPPER,
	LEASE_STOP_NEEDED,
	LEASE_STOPPING,
	LEASE__MAX
};

enum lease_event {
	LEASE_EV_ALLOCATE,
	LEASE_EV_STARTUP_VERIFIED,
	LEASE_EV_DELIVERY_ACCEPTED,
	LEASE_EV_RETAIN_WARM,
	LEASE_EV_REUSE,
	LEASE_EV_OWNED_ABSENT,
	LEASE_EV_REQUEST_STOP,
	LEASE_EV_BEGIN_STOP_ATTEMPT,
	LEASE_EV_STOP_ABSENT,
	LEASE_EV_STOP_NOT_CONFIRMED,
	LEASE_EV_STOP_ATTEMPT_EXPIRED,
	LEASE_EV__MAX
};

/* What must be the same in row and event before the event counts. */
enum lease_fence {
	FENCE_NOTHING,
	FENCE_INSTANCE, /* instance and generation */
	FENCE_DUE,      /* next_attempt_at has come */
	FENCE_ATTEMPT,  /* attempt id */
	FENCE_EXPIRED   /* attempt id, and its deadline is over */
};

/* What the event does to the row besides; none at all: a no-op. */
enum lease_effect {
	EFFECT_GENERATION = 1U << 0, /* the next one, of a new instance */
	EFFECT_STARTUP = 1U << 1,    /* startup deadline set */
	EFFECT_NO_STARTUP = 1U << 2, /* startup deadline cleared */
	EFFECT_WARM = 1U << 3,       /* keep-warm set */
	EFFECT_NO_WARM = 1U << 4,    /* keep-warm cleared */
	EFFECT_STOP = 1U << 5,       /* target and reason noted, due now */
	EFFECT_ATTEMPT = 1U << 6,    /* one more, with its watchdog */
	EFFECT_BACKOFF = 1U << 7,    /* error kept, due again later */
	EFFECT_RELEASE = 1U << 8,    /* all but the generation cleared */
	EFFECT_ACCEPTED = 1U << 9,   /* the generation has work: noted once */
	EFFECT__END = 1U << 10
};

struct lease_transition {
	enum lease_state from;
	enum lease_event event;
	enum lease_state to;
	enum lease_fence fence;
	unsigned effects; /* of enum lease_effect */
};

extern const struct lease_transition LEASE_TRANSITIONS[];
extern const size_t LEASE_TRANSITION_COUNT;
extern const char *const LEASE_STATE_NAMES[];  /* NULL at the end */
extern const char *const LEASE_EVENT_NAMES[];  /* NULL at the end */
extern const char *const LEASE_FENCE_NAMES[];  /* NULL at the end */
extern const char *const LEASE_EFFECT_NAMES[]; /* by bit; NULL at the end */
extern const char *const STOP_REASON_NAMES[];  /* NULL at the end */

/* Where the event leads.  An impossible pair is ERR_CONFLICT and says why. */
int lease_next(enum lease_state from, enum lease_event event,
    const struct lease_transition **out, struct err *e) MUST_CHECK;

/* A word that cannot be read is owned and due for clean-up, never none. */
enum lease_state lease_state_parse(const char *word);

#endif
