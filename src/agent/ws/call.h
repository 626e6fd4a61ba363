/*
 * call.h: runs one request on /ws through the routes, as a call like any other.
 */
#ifndef SANDLEASE_AGENT_WS_CALL_H
#define SANDLEASE_AGENT_WS_CALL_H

#include "agent/ws/conn.h"
#include "agent/ws/request.h"

struct ws_call;

/*
 * Takes over the request, and `message` if the body is still in there; borrows
 * conn and session.  Waits while large bodies of earlier requests are unread,
 * because the memory of all bodies is bounded.
 */
struct ws_call *ws_call_new(struct ws_conn *conn, struct ws_request *r,
    struct buf *message, const char *session);
void ws_call_free(struct ws_call *c);

const char *ws_call_id(const struct ws_call *c);

/* Runs the route; returns when the answer is sent. */
void ws_call_run(struct ws_call *c);

/* The client does not want the answer any more; from any thread. */
void ws_call_cancel(struct ws_call *c);

#endif
