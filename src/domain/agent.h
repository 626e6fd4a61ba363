/*
 * agent.h: what is said of a session to its agent, and by it.
 *
 * Only the words: talking to an agent is provider/link/link.h's.
 */
#ifndef SANDLEASE_DOMAIN_AGENT_H
#define SANDLEASE_DOMAIN_AGENT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/id.h"
#include "domain/sandbox_id.h"

/* Which session of which sandbox, and which of its lives. */
struct agent_target {
	char sandbox[SANDBOX_ID_MAX];
	char incarnation[ID_MAX];
	char session[ID_MAX];
	int64_t generation;
	char instance[ID_MAX];
};

/* What its wrapper says it is doing. */
struct agent_status {
	bool answered; /* for callers who go on without an answer */
	bool busy;
	int64_t running, streams, relays, idle_ms;
	int64_t relay_idle_ms; /* since the last byte; -1: never one */
	int64_t quiet_ms; /* since the last byte of output, stream or port */
	int64_t cpu_ms;   /* used by all but the wrapper; -1: not told */
	int64_t limit_ms; /* until what runs ends by its own limit; 0: none */
	int64_t served;   /* calls it took since it was launched */
};

#endif
