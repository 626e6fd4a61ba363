/*
 * conn.h: sends and receives messages on one WebSocket, by the pair of sockets
 * to sandlease-ws (common/wslink.h).
 *
 * One thread receives; any thread may send.  ws_hold() locks the connection, so
 * that the pieces of a message follow each other on the wire.  Sending blocks
 * while the client does not read, and fails when the client has gone.
 */
#ifndef SANDLEASE_AGENT_WS_CONN_H
#define SANDLEASE_AGENT_WS_CONN_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/base/lock.h"
#include "common/wslink.h"

enum ws_code {
	WS_TOO_BIG = 1009,
	WS_INTERNAL = 1011,
	WS_TRY_LATER = 1013,
	WS_NORMAL = 1000
};

struct ws_conn {
	int fd; /* owned */
	struct lock lock;
};

/* Takes over `fd`. */
void ws_conn_init(struct ws_conn *c, int fd);
void ws_conn_free(struct ws_conn *c);

/* Too large for a small stack. */
struct ws_piece {
	enum wslink_kind kind; /* of the message */
	bool last;
	size_t len;
	char data[WSLINK_MAX];
};

/* The next piece of the client's message; false when the client has gone. */
bool ws_receive(struct ws_conn *c, struct ws_piece *out);

/* Sends a whole message.  -1 when the client has gone. */
int ws_send(struct ws_conn *c, enum wslink_kind kind, const char *data,
    size_t len);

/* Sends a message in parts.  The caller holds the connection meanwhile. */
void ws_hold(struct ws_conn *c);
void ws_let_go(struct ws_conn *c);
int ws_send_part(struct ws_conn *c, enum wslink_kind kind, const char *data,
    size_t len, bool last);

/*
 * Sends a close frame without waiting: it is lost if the client does not read.
 * Nothing can be sent afterwards; receiving goes on.
 */
void ws_close(struct ws_conn *c, enum ws_code code, const char *why);

/* The same, but waits until the close frame can be sent. */
void ws_finish(struct ws_conn *c, enum ws_code code, const char *why);

/*
 * Waits until the client has gone, 10 s at most.  If the wrapper closed its end
 * first, messages that are on their way would be lost.
 */
void ws_await_end(struct ws_conn *c);

#endif
