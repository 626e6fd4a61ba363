/*
 * agent.h: defines how a request names a session's wrapper, and the status that
 * the wrapper answers.
 *
 * Types only: provider/link/link.h talks to an agent.
 */
#ifndef SANDLEASE_DOMAIN_AGENT_H
#define SANDLEASE_DOMAIN_AGENT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/id.h"
#include "domain/sandbox_id.h"

/* A session in its sandbox, with the incarnation and generation meant. */
struct agent_target {
	char sandbox[SANDBOX_ID_MAX];
	char incarnation[ID_MAX];
	char session[ID_MAX];
	int64_t generation;
	char instance[ID_MAX];
};

/* The status that a session's wrapper reports. */
struct agent_status {
	bool answered; /* false: the caller goes on without an answer */
	bool busy;
	int64_t running, streams, relays, idle_ms;
	int64_t relay_idle_ms; /* since the last byte; -1: there was none */
	int64_t quiet_ms; /* since the last byte of output, stream or port */
	int64_t cpu_ms;   /* used by all but the wrapper; -1: not reported */
	int64_t limit_ms; /* until the commands' own time limit; 0: none */
	int64_t served;   /* calls since the wrapper was launched */
	int64_t keys;     /* correlation keys that were asked for inside */
};

#endif
