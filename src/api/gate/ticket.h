/*
 * ticket.h: what stands for a key in the address of a WebSocket.
 *
 * A browser can give a WebSocket no header, and a key has no business in an
 * address.  So whoever has a key makes a ticket (v1/tickets.c): for one socket
 * of one session, for a minute, and for the first request that comes with it.
 * That one may be authorised more than once: its session may have to be woken.
 */
#ifndef SANDLEASE_API_GATE_TICKET_H
#define SANDLEASE_API_GATE_TICKET_H

#include "api/gate/access.h"

/* What a ticket may be for. */
enum ticket_for {
	TICKET_TERMINAL, /* ws/pty */
	TICKET_WS,       /* ws and api/ws: all that the data plane has */
	TICKET__MAX
};

extern const char *const TICKET_NAMES[]; /* NULL at the end */

/* The address of that socket, ws:// or wss://, with the ticket unless NULL. */
char *ticket_socket_url(const struct conf *conf, const char *session,
    enum ticket_for what, const char *ticket);

/* What a ticket must be for to open what nginx was asked for; "": none does. */
const char *ticket_purpose(const struct call *c);

/* Whether it asks to become a WebSocket. */
bool ticket_upgrades(const struct call *c);

/*
 * As access_credential, for the data plane: a WebSocket's ticket counts before
 * the cookie, which a browser sends unasked.  Beside a key it is refused.
 */
int ticket_credential(const struct call *c, struct credential *out,
    struct err *e) MUST_CHECK;

#endif
