/*
 * agent_wire.h: one question to init and its answer, for agent_*.c.
 */
#ifndef SANDLEASE_PROVIDER_AGENT_WIRE_H
#define SANDLEASE_PROVIDER_AGENT_WIRE_H

#include <stddef.h>

#include "provider/agent_link.h"

struct agent_question {
	const char *op;
	json_t *body;   /* taken by agent_ask(), whatever comes of it */
	const int *fds; /* stay the caller's */
	size_t fd_count;
};

/* Asks and waits; *reply is the caller's and says "ok": true. */
int agent_ask(const struct provider *p, const char *sandbox,
    const char *incarnation, struct agent_question *q, int64_t deadline_ms,
    json_t **reply, struct err *e) MUST_CHECK;

/* {"session", "generation"} of a target. */
json_t *agent_body(const struct agent_target *t);

#endif
