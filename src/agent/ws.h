/*
 * ws.h: what the session's WebSockets mean.
 *
 * /ws and /api/ws carry many requests of the data plane at once, as the
 * Cloudflare SDK's transport `websocket` has them; /ws/pty is a terminal.
 */
#ifndef SANDLEASE_AGENT_WS_H
#define SANDLEASE_AGENT_WS_H

#include "agent/ws_conn.h"
#include "common/json.h"

enum { WS_CONNECTIONS_MAX = 256, WS_REQUESTS_MAX = 256 };

/* Whose session; before anything else. */
void ws_open(const char *session_id);

/* Serves the one that `asked` describes (wslink.h); takes over `fd`. */
void ws_serve(const json_t *asked, int fd);

/* Each serves one until it ends, in a thread of its own. */
void ws_mux_run(struct ws_conn *conn, const char *session);
void ws_pty_run(struct ws_conn *conn, const json_t *args);

#endif
