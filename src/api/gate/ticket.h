/*
 * ticket.h: reads one-time tickets, which open WebSockets instead of a key.
 *
 * A browser cannot send a header with a WebSocket, and a key must not be part
 * of a URL.  So a client with a key makes a ticket (v1/tickets.c).  The ticket
 * opens one kind of socket of one session, within a minute, and belongs to the
 * first request that shows it.  nginx may ask about that request more than
 * once, because its session may have to be woken first.
 */
#ifndef SANDLEASE_API_GATE_TICKET_H
#define SANDLEASE_API_GATE_TICKET_H

#include "api/gate/access.h"

/* The purpose of a ticket: the WebSocket that it opens. */
enum ticket_for {
	TICKET_TERMINAL, /* ws/pty */
	TICKET_WS,       /* ws and api/ws: all routes of the data plane */
	TICKET__MAX
};

extern const char *const TICKET_NAMES[]; /* NULL at the end */

/* The URL of the socket (ws:// or wss://); `ticket` may be NULL. */
char *ticket_socket_url(const struct conf *conf, const char *session,
    enum ticket_for what, const char *ticket);

/* The purpose that opens the call's path; "": no ticket does. */
const char *ticket_purpose(const struct call *c);

/*
 * As access_credential(), for the data plane.  A WebSocket's ticket takes
 * precedence over the cookie, which a browser sends with every request.  A
 * ticket together with a key is refused.
 */
int ticket_credential(const struct call *c, struct credential *out,
    struct err *e) MUST_CHECK;

#endif
