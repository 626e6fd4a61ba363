/*
 * ws.h: serves the WebSockets of the session.
 *
 * /ws and /api/ws carry many requests of the data plane at once, in the format
 * of the Cloudflare SDK's transport `websocket`; /ws/pty is a terminal.
 */
#ifndef SANDLEASE_AGENT_WS_WS_H
#define SANDLEASE_AGENT_WS_WS_H

#include "agent/ws/conn.h"
#include "common/json.h"

/*
 * A few more connections than sandlease-ws admits (service.c), so that it can
 * answer a client that is one too many.
 */
enum { WS_CONNECTIONS_MAX = 256 + 32, WS_REQUESTS_MAX = 256 };

/* Sets the session's id; must be called first. */
void ws_open(const char *session_id);

/*
 * Serves a connection that sandlease-ws also has.  Takes over `client`, our
 * descriptor of it, and `pair`, our end of the pair (wslink.h).
 */
void ws_serve(int client, int pair);

/* How many connections are open. */
int ws_serving(void);
/* Number of the newest connection, open or not; they count from 1. */
int64_t ws_newest(void);

/* Cuts all connections with numbers up to `newest`. */
void ws_cut(int64_t newest);

/* Each serves one connection until its end, in the calling thread. */
void ws_mux_run(struct ws_conn *conn, const char *session);
void ws_pty_run(struct ws_conn *conn, const json_t *args);

#endif
