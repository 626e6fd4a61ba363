/*
 * execution.h: reads the options that every route for commands has.
 *
 * These are members of the body.  `executionId`: api/executions/{id} ends the
 * command by this id; without one, a random id is made.  `onDisconnect`:
 * "continue", or "kill" to interrupt the command when its client disconnects.
 */
#ifndef SANDLEASE_AGENT_RUN_EXECUTION_H
#define SANDLEASE_AGENT_RUN_EXECUTION_H

#include "agent/run/interrupt.h"
#include "common/err.h"
#include "common/json.h"
#include "web/call.h"

struct execution {
	char id[INTERRUPT_ID_MAX];
	const char *route; /* for lists: "execute/stream" */
	int client;        /* as in struct interrupt_name */
	bool chosen;       /* the body has one of the two members */
};

/* Reads both members. */
int execution_read(struct call *c, const json_t *body, const char *route,
    struct execution *out, struct err *e) MUST_CHECK;

/* Adds the header X-Execution-Id to the answer. */
void execution_tell(struct call *c, const struct execution *x);

/* Fails, and names the member, if the body has one of them. */
int execution_refuse(const json_t *body, const char *why, struct err *e)
    MUST_CHECK;

#endif
