/*
 * ws.h: what the session's WebSockets mean.
 *
 * /ws and /api/ws carry many requests of the data plane at once, as the
 * Cloudflare SDK's transport `websocket` has them; /ws/pty is a terminal.
 */
#ifndef SANDLEASE_AGENT_WS_WS_H
#define SANDLEASE_AGENT_WS_WS_H

#include "agent/ws/conn.h"
#include "common/json.h"

/*
 * A few more than sandlease-ws admits (service.c), so that it can say so to one
 * too many.
 */
enum { WS_CONNECTIONS_MAX = 256 + 32, WS_REQUESTS_MAX = 256 };

/* Whose session; before anything else. */
void ws_open(const char *session_id);

/*
 * Serves a connection that sandlease-ws was given; takes over our descriptor of
 * it and our end of the pair (wslink.h).
 */
void ws_serve(int client, int pair);

/* How many there are; the number of the newest, of any time. */
int ws_serving(void);
int64_t ws_newest(void);

/* Ends all connections up to that one, whoever else holds them. */
void ws_cut(int64_t newest);

/* Each serves one until it ends, in a thread of its own. */
void ws_mux_run(struct ws_conn *conn, const char *session);
void ws_pty_run(struct ws_conn *conn, const json_t *args);

#endif
