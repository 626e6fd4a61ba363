/*
 * wire.h: one question to init and its answer, for the files of this room.
 */
#ifndef SANDLEASE_PROVIDER_LINK_WIRE_H
#define SANDLEASE_PROVIDER_LINK_WIRE_H

#include <stddef.h>

#include "provider/link/link.h"

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

/*
 * The two halves of it: sends and answers the socket, which is the caller's;
 * waits there.  A reply that has come is read even when the deadline is over.
 */
int agent_ask_send(const struct provider *p, const char *sandbox,
    const char *incarnation, struct agent_question *q, struct err *e)
    MUST_CHECK;
int agent_ask_recv(int sock, const char *op, int64_t deadline_ms,
    json_t **reply, struct err *e) MUST_CHECK;

/* What an answer to look, seal or kill, and to status, says. */
int agent_sight_read(const json_t *reply, const char *op,
    struct agent_sight *out, struct err *e) MUST_CHECK;
int agent_status_read(const json_t *reply, struct agent_status *out,
    struct err *e) MUST_CHECK;

/* {"session", "generation"} of a target. */
json_t *agent_body(const struct agent_target *t);

/* What is frozen hears no SIGTERM and, by some freezers, no SIGKILL. */
void agent_let_go(const struct provider *p, const struct agent_target *t);

#endif
