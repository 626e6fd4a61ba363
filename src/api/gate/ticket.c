/* ticket.c: reads one-time tickets, which open WebSockets instead of a key. */
#include "api/gate/ticket.h"

#include <string.h>

#include "api/gate/request.h"
#include "common/mem.h"

const char *const TICKET_NAMES[] = {
	[TICKET_TERMINAL] = "terminal",
	[TICKET_WS] = "ws",
	[TICKET__MAX] = NULL,
};

/* ticket_socket_url() uses the first row of each purpose. */
static const struct {
	enum ticket_for what;
	const char *path, *query;
} SOCKETS[] = {
	{ TICKET_TERMINAL, "ws/pty", "?sessionId=default" },
	{ TICKET_WS, "ws", "" },
	{ TICKET_WS, "api/ws", "" },
};

char *
ticket_socket_url(const struct conf *conf, const char *session,
    enum ticket_for what, const char *ticket)
{
	const char *rest = strstr(conf->public_url, "://");
	struct buf url = { 0 };
	size_t i = 0;

	while (SOCKETS[i].what != what)
		i++;
	buf_fmt(&url, "%s%s/v1/sessions/%s/%s%s",
	    str_starts(conf->public_url, "https:") ? "wss" : "ws",
	    rest != NULL ? rest : conf->public_url, session, SOCKETS[i].path,
	    SOCKETS[i].query);
	if (ticket != NULL)
		buf_fmt(&url, "%sticket=%s",
		    SOCKETS[i].query[0] != '\0' ? "&" : "?", ticket);
	return url.data;
}

const char *
ticket_purpose(const struct call *c)
{
	const char *rest = request_rest(c);

	for (size_t i = 0; i < ARRAY_LEN(SOCKETS); i++)
		if (str_equal(rest, SOCKETS[i].path))
			return TICKET_NAMES[SOCKETS[i].what];
	return "";
}

int
ticket_credential(const struct call *c, struct credential *out, struct err *e)
{
	const char *ticket = call_param(c, "SL_TICKET");

	if (access_credential(c, out, e) < 0)
		return -1;
	/* a plain GET of the URL, such as a link preview makes, must not use up
	 * the ticket */
	if (ticket[0] == '\0' || !request_upgrades(c) ||
	    ticket_purpose(c)[0] == '\0')
		return 0;
	if ((out->given && out->kind == CREDENTIAL_KEY) ||
	    strlen(ticket) >= TOKEN_KEY_MAX) {
		*out = (struct credential){ 0 };
		return access_refused(e);
	}
	*out = (struct credential){ .given = true, .kind = CREDENTIAL_TICKET };
	token_hash(ticket, out->hash);
	return 0;
}
