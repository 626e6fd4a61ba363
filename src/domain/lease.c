/* lease.c: who owns a session's wrapper, as data. */
#include "domain/lease.h"

#include "common/mem.h"
#include "common/str.h"

const char *const LEASE_STATE_NAMES[] = {
	[LEASE_NONE] = "none",
	[LEASE_OWNS_WRAPPER] = "owns_wrapper",
	[LEASE_STOP_NEEDED] = "stop_needed",
	[LEASE_STOPPING] = "stopping",
	[LEASE__MAX] = NULL,
};

const char *const LEASE_EVENT_NAMES[] = {
	[LEASE_EV_ALLOCATE] = "allocate",
	[LEASE_EV_STARTUP_VERIFIED] = "startup_verified",
	[LEASE_EV_DELIVERY_ACCEPTED] = "delivery_accepted",
	[LEASE_EV_RETAIN_WARM] = "retain_warm",
	[LEASE_EV_REUSE] = "reuse",
	[LEASE_EV_OWNED_ABSENT] = "owned_absent",
	[LEASE_EV_REQUEST_STOP] = "request_stop",
	[LEASE_EV_BEGIN_STOP_ATTEMPT] = "begin_stop_attempt",
	[LEASE_EV_STOP_ABSENT] = "stop_absent",
	[LEASE_EV_STOP_NOT_CONFIRMED] = "stop_not_confirmed",
	[LEASE_EV_STOP_ATTEMPT_EXPIRED] = "stop_attempt_expired",
	[LEASE_EV__MAX] = NULL,
};

const char *const LEASE_FENCE_NAMES[] = {
	[FENCE_NOTHING] = "nothing",
	[FENCE_INSTANCE] = "instance",
	[FENCE_DUE] = "due",
	[FENCE_ATTEMPT] = "attempt",
	[FENCE_EXPIRED] = "expired",
	NULL,
};

const char *const LEASE_EFFECT_NAMES[] = { "generation", "startup",
	"no_startup", "warm", "no_warm", "stop", "attempt", "backoff",
	"release", "accepted", NULL };

const char *const STOP_REASON_NAMES[] = { "readiness-failed", "startup-failed",
	"unhealthy-wrapper", "terminal-failed", "terminal-interrupted",
	"idle-timeout", "keep-warm-expired", "user-interrupt", "session-delete",
	"unexpected-wrapper", "observation-failed", "too-old", "stuck",
	"orphaned", "shutdown", "recovery", NULL };

#define START (EFFECT_STARTUP | EFFECT_NO_WARM)
#define WANTED (EFFECT_STOP | EFFECT_NO_STARTUP | EFFECT_NO_WARM)

/* clang-format off */
const struct lease_transition LEASE_TRANSITIONS[] = {
	{ LEASE_NONE,         LEASE_EV_ALLOCATE,             LEASE_OWNS_WRAPPER, FENCE_NOTHING,  EFFECT_GENERATION | START },
	{ LEASE_NONE,         LEASE_EV_REQUEST_STOP,         LEASE_STOP_NEEDED,  FENCE_NOTHING,  WANTED },
	{ LEASE_OWNS_WRAPPER, LEASE_EV_STARTUP_VERIFIED,     LEASE_OWNS_WRAPPER, FENCE_INSTANCE, START },
	{ LEASE_OWNS_WRAPPER, LEASE_EV_DELIVERY_ACCEPTED,    LEASE_OWNS_WRAPPER, FENCE_INSTANCE, EFFECT_NO_STARTUP | EFFECT_NO_WARM | EFFECT_ACCEPTED },
	{ LEASE_OWNS_WRAPPER, LEASE_EV_RETAIN_WARM,          LEASE_OWNS_WRAPPER, FENCE_INSTANCE, EFFECT_NO_STARTUP | EFFECT_WARM },
	/* it wins over keep-warm, which stays as it is */
	{ LEASE_OWNS_WRAPPER, LEASE_EV_REUSE,                LEASE_OWNS_WRAPPER, FENCE_INSTANCE, EFFECT_STARTUP },
	{ LEASE_OWNS_WRAPPER, LEASE_EV_OWNED_ABSENT,         LEASE_NONE,         FENCE_INSTANCE, EFFECT_RELEASE },
	{ LEASE_OWNS_WRAPPER, LEASE_EV_REQUEST_STOP,         LEASE_STOP_NEEDED,  FENCE_NOTHING,  WANTED },
	/* the first target, reason and backoff are kept: a no-op, not an error */
	{ LEASE_STOP_NEEDED,  LEASE_EV_REQUEST_STOP,         LEASE_STOP_NEEDED,  FENCE_NOTHING,  0 },
	{ LEASE_STOPPING,     LEASE_EV_REQUEST_STOP,         LEASE_STOPPING,     FENCE_NOTHING,  0 },
	{ LEASE_STOP_NEEDED,  LEASE_EV_BEGIN_STOP_ATTEMPT,   LEASE_STOPPING,     FENCE_DUE,      EFFECT_ATTEMPT },
	{ LEASE_STOPPING,     LEASE_EV_STOP_ABSENT,          LEASE_NONE,         FENCE_ATTEMPT,  EFFECT_RELEASE },
	{ LEASE_STOPPING,     LEASE_EV_STOP_NOT_CONFIRMED,   LEASE_STOP_NEEDED,  FENCE_ATTEMPT,  EFFECT_BACKOFF },
	{ LEASE_STOPPING,     LEASE_EV_STOP_ATTEMPT_EXPIRED, LEASE_STOP_NEEDED,  FENCE_EXPIRED,  EFFECT_BACKOFF },
};
/* clang-format on */
const size_t LEASE_TRANSITION_COUNT = ARRAY_LEN(LEASE_TRANSITIONS);

int
lease_next(enum lease_state from, enum lease_event event,
    const struct lease_transition **out, struct err *e)
{
	for (size_t i = 0; i < LEASE_TRANSITION_COUNT; i++)
		if (LEASE_TRANSITIONS[i].from == from &&
		    LEASE_TRANSITIONS[i].event == event) {
			*out = &LEASE_TRANSITIONS[i];
			return 0;
		}
	return err_set(e, ERR_CONFLICT, CODE_LEASE_REFUSED,
	    "%s is not possible while the lease is %s",
	    LEASE_EVENT_NAMES[event], LEASE_STATE_NAMES[from]);
}

enum lease_state
lease_state_parse(const char *word)
{
	for (int i = 0; i < LEASE__MAX; i++)
		if (str_equal(LEASE_STATE_NAMES[i], word))
			return (enum lease_state)i;
	return LEASE_STOP_NEEDED;
}
