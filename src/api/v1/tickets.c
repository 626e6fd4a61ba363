/* tickets.c: serves POST /v1/sessions/:id/tickets. */
#include <stdio.h>

#include "api/app.h"
#include "api/gate/ticket.h"
#include "api/v1/handlers.h"
#include "api/v1/session_body.h"
#include "common/mem.h"

enum {
	TICKET_SECONDS = 60,
	TICKETS_MAX = 100 /* of a session, within TICKET_SECONDS */
};

struct ticket_body {
	int what;
};

/* clang-format off */
const struct jfield TICKET_FIELDS[] = {
	JFIELD_ENUM("for", struct ticket_body, what, 0, TICKET_NAMES, "what it opens: `ws/pty` (the default), or `ws` and `api/ws`"),
};
/* clang-format on */
const size_t TICKET_FIELD_COUNT = ARRAY_LEN(TICKET_FIELDS);

static int
store_ticket(struct call *c, const char *ticket, int what, struct rows **r,
    struct err *e)
{
	const struct principal *who = &app_of(c)->who;
	char hash[TOKEN_HASH_HEX_MAX], seconds[16], most[16];

	token_hash(ticket, hash);
	snprintf(seconds, sizeof(seconds), "%d", TICKET_SECONDS);
	snprintf(most, sizeof(most), "%d", TICKETS_MAX);
	return STORE_RUN(app_of(c)->store, STMT_TICKET_CREATE, r, e, hash,
	    call_var(c, "id"), who->tenant, who->key_id, TICKET_NAMES[what],
	    seconds, most);
}

int
v1_ticket_create(struct call *c, struct err *e)
{
	auto_json json_t *json = NULL, *reply = NULL;
	auto_rows struct rows *r = NULL;
	auto_free char *url = NULL;
	struct ticket_body b = { .what = TICKET_TERMINAL };
	char ticket[TOKEN_PREVIEW_LEN + 1];

	if (call_json(c, BODY_MAX, &json, e) < 0 ||
	    jfield_decode(json, TICKET_FIELDS, TICKET_FIELD_COUNT, 0, &b, e) <
		0)
		return -1;
	token_make(ticket);
	if (store_ticket(c, ticket, b.what, &r, e) < 0)
		return -1;
	url = ticket_socket_url(app_of(c)->conf, call_var(c, "id"),
	    (enum ticket_for)b.what, ticket);
	reply = json_pack("{s:s, s:s, s:s, s:s}", "ticket", ticket, "for",
	    TICKET_NAMES[b.what], "expiresAt", rows_text(r, 0, "expires_at"),
	    "url", url);
	call_reply(c, 201, reply);
	return 0;
}
