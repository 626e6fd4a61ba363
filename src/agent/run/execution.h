/*
 * execution.h: what a caller may say of any command: its id, and whether it
 * ends with the call.
 *
 * Members of a body: `executionId`, by which api/executions/{id} ends the
 * command (one is made where none is given), and `onDisconnect`: "continue", or
 * "kill" to have it interrupted when its client leaves.
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
	bool chosen;       /* the caller has said one of the two */
};

/* Reads both. */
int execution_read(struct call *c, const json_t *body, const char *route,
    struct execution *out, struct err *e) MUST_CHECK;

/* The answer gets a header X-Execution-Id. */
void execution_tell(struct call *c, const struct execution *x);

/* A body that has neither of them, or an error that names the one. */
int execution_refuse(const json_t *body, const char *why, struct err *e)
    MUST_CHECK;

#endif
