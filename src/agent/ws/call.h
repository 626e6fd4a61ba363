/*
 * call.h: one request on /ws, which is a call like any other to the routes.
 */
#ifndef SANDLEASE_AGENT_WS_CALL_H
#define SANDLEASE_AGENT_WS_CALL_H

#include "agent/ws/conn.h"
#include "agent/ws/request.h"

struct ws_call;

/*
 * Takes over the request, and the message it was read from if its body is still
 * in there; borrows the other two.  Waits while large bodies of earlier requests
 * have not been read: the memory of all of them is bounded.
 */
struct ws_call *ws_call_new(struct ws_conn *conn, struct ws_request *r,
    struct buf *message, const char *session);
void ws_call_free(struct ws_call *c);

const char *ws_call_id(const struct ws_call *c);

/* Has the routes answer it; returns when that is over. */
void ws_call_run(struct ws_call *c);

/* Its client does not want the answer any more; from any thread. */
void ws_call_cancel(struct ws_call *c);

#endif
