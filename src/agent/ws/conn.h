/*
 * conn.h: one WebSocket, as the wrapper sees it (common/wslink.h).
 *
 * One thread receives, any may send; a message is whole on the wire even if
 * it is sent piece by piece, because whoever holds the connection sends alone.
 * Sending waits for a client that does not read, and fails when it has gone.
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
	enum wslink_kind kind; /* of its message */
	bool last;
	size_t len;
	char data[WSLINK_MAX];
};

/* The next piece of what the client sends; false when it has gone. */
bool ws_receive(struct ws_conn *c, struct ws_piece *out);

/* A whole message.  -1 when the client has gone. */
int ws_send(struct ws_conn *c, enum wslink_kind kind, const char *data,
    size_t len);

/* Part of one, by who holds the connection. */
void ws_hold(struct ws_conn *c);
void ws_let_go(struct ws_conn *c);
int ws_send_part(struct ws_conn *c, enum wslink_kind kind, const char *data,
    size_t len, bool last);

/* Nothing is sent afterwards; what the client still sends may be received. */
void ws_close(struct ws_conn *c, enum ws_code code, const char *why);

/* The same when the client has read what was sent; ws_close() cuts it off. */
void ws_finish(struct ws_conn *c, enum ws_code code, const char *why);

/*
 * What has been sent would be lost if our end closed first: returns when the
 * client has gone, or does not go.
 */
void ws_await_end(struct ws_conn *c);

#endif
