/*
 * wire.h: sends one request to init and reads the reply; for this room only.
 */
#ifndef SANDLEASE_PROVIDER_LINK_WIRE_H
#define SANDLEASE_PROVIDER_LINK_WIRE_H

#include <stddef.h>

#include "provider/link/link.h"

struct agent_question {
	const char *op;
	json_t *body;   /* agent_ask() frees it, also when it fails */
	const int *fds; /* borrowed */
	size_t fd_count;
};

/* Sends a request and waits; *reply is the caller's and has "ok": true. */
int agent_ask(const struct provider *p, const char *sandbox,
    const char *incarnation, struct agent_question *q, int64_t deadline_ms,
    json_t **reply, struct err *e) MUST_CHECK;

/*
 * The two halves of agent_ask().  agent_ask_send() returns the socket, which
 * the caller closes; agent_ask_recv() waits on it for the reply.  A reply that
 * has arrived is read even when the deadline is over.
 */
int agent_ask_send(const struct provider *p, const char *sandbox,
    const char *incarnation, struct agent_question *q, struct err *e)
    MUST_CHECK;
int agent_ask_recv(int sock, const char *op, int64_t deadline_ms,
    json_t **reply, struct err *e) MUST_CHECK;

/* Decode the reply to look, seal or kill, and the reply to status. */
int agent_wrappers_read(const json_t *reply, const char *op,
    struct agent_wrappers *out, struct err *e) MUST_CHECK;
int agent_status_read(const json_t *reply, struct agent_status *out,
    struct err *e) MUST_CHECK;

/*
 * Makes *e an error of the agent and returns -1.  A reply that cannot be decoded
 * must neither look like "no wrapper" nor like a mistake of the client.
 */
int agent_bad_reply(struct err *e, const char *op);

/* A file in memory with this text, to be passed.  Returns the descriptor. */
int agent_memory_file(const char *data, size_t len, struct err *e) MUST_CHECK;

/* A new object {"session", "generation"} of a target. */
json_t *agent_body(const struct agent_target *t);

/*
 * Thaws a cell that a full disk has frozen: a frozen process gets no SIGTERM
 * and, with some freezers, no SIGKILL.
 */
void agent_thaw_before_end(const struct provider *p,
    const struct agent_target *t);

#endif
