/*
 * routes.h: the data plane of one session.
 */
#ifndef SANDLEASE_AGENT_ROUTES_H
#define SANDLEASE_AGENT_ROUTES_H

#include "common/err.h"
#include "web/call.h"

/* Whose paths are ours: /v1/sessions/<session_id>/... */
void routes_open(const char *session_id);

/* Answers one call; a serve_fn. */
void routes_handle(struct call *c);

/* Handlers, each in the file of its noun. */
int api_execute(struct call *c, struct err *e);
int api_execute_stream(struct call *c, struct err *e);
int api_write(struct call *c, struct err *e);
int api_read(struct call *c, struct err *e);
int api_git_checkout(struct call *c, struct err *e);

#endif
