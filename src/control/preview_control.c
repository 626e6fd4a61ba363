/* preview_control.c: exposes ports of a session under URLs. */
#include "control/preview_control.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/fault.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "control/relay_control.h"

enum { PORT_TEXT_MAX = 24 };

const char *const PREVIEW_HOSTS[] = {
	[PREVIEW_LOCALHOST] = "localhost",
	[PREVIEW_LOCALHOST_ONLY] = "localhost-only",
	[PREVIEW_PUBLIC] = "public",
	[PREVIEW_HOST__MAX] = NULL,
};

struct fresh_token {
	char hash[TOKEN_HASH_HEX_MAX];
	struct buf sealed;
};

static void
release_token(struct fresh_token *t)
{
	buf_free(&t->sealed);
}

static char *
owner_of(const char *id, int64_t port)
{
	return xasprintf("%s:port:%" PRId64, id, port);
}

static void
make_token(const struct control *ctl, const char *id, int64_t port,
    struct fresh_token *t)
{
	auto_free char *owner = owner_of(id, port);
	char token[TOKEN_PREVIEW_LEN + 1];

	token_make(token);
	token_hash(token, t->hash);
	seal(&ctl->keys, owner, token, TOKEN_PREVIEW_LEN, &t->sealed);
}

int
preview_token(const struct control *ctl, const char *id, int64_t port,
    const char *token_sealed, struct buf *out, struct err *e)
{
	auto_free char *owner = owner_of(id, port);

	return seal_open(&ctl->keys, owner, token_sealed, out, e);
}

/* Makes a new token; also reads the session and writes the port as text. */
static int
begin_token(struct control *ctl, const char *id, const char *tenant,
    int64_t port, struct session_row *s, struct fresh_token *t,
    char text[PORT_TEXT_MAX], struct err *e)
{
	if (control_session(ctl, id, tenant, s, e) < 0)
		return -1;
	make_token(ctl, id, port, t);
	snprintf(text, PORT_TEXT_MAX, "%" PRId64, port);
	return 0;
}

/* Whether the session is over, so that no port of it can be exposed. */
static bool
is_over(const struct session_row *s)
{
	return state_session_ends(s->state) || s->state == SESSION_LOST;
}

static int
refuse_over(const struct session_row *s, struct err *e)
{
	if (control_must_live(s->state, e) < 0)
		return -1;
	return err_set(e, ERR_CONFLICT, CODE_SESSION_LOST,
	    "the session's files are gone; it can only be deleted");
}

int
preview_expose(struct control *ctl, const char *id, const char *tenant,
    const struct preview_options *options, json_t **out, bool *created,
    struct err *e)
{
	__attribute__((cleanup(release_token))) struct fresh_token t = { 0 };
	auto_rows struct rows *r = NULL;
	struct session_row s;
	struct err ignored = { 0 };
	char text[PORT_TEXT_MAX], seconds[PORT_TEXT_MAX];
	bool left;

	if (begin_token(ctl, id, tenant, options->port, &s, &t, text, e) < 0 ||
	    control_must_be_here(ctl, &s, e) < 0)
		return -1;
	snprintf(seconds, sizeof(seconds), "%" PRId64,
	    options->expires_seconds);
	if (STORE_RUN(ctl->store, STMT_PORT_EXPOSE, &r, e, id, tenant, text,
		options->name, t.hash, t.sealed.data,
		options->expires_seconds > 0 ? seconds : NULL,
		options->only_new ? "true" : "false", options->host,
		options->base_url) < 0)
		return -1;
	if (rows_count(r) == 0)
		return options->only_new && !is_over(&s)
		    ? err_set(e, ERR_CONFLICT, CODE_PORT_ALREADY_EXPOSED,
			  "port %" PRId64 " is already exposed", options->port)
		    : refuse_over(&s, e);
	CRASH_POINT("expose.intent");
	*created = rows_bool(r, 0, "created");
	if (rows_json(r, 0, "json", out, e) < 0)
		return -1;
	if (relay_settle_port(ctl, id, options->port, &left, e) == 0)
		return 0;
	/* close it again: else a repetition would be refused as exposed */
	if (options->only_new &&
	    STORE_RUN(ctl->store, STMT_PORT_CLOSE, NULL, &ignored, id, tenant,
		text) < 0)
		log_err(LOG_WARN, "unexpose", &ignored);
	return -1;
}

int
preview_rotate(struct control *ctl, const char *id, const char *tenant,
    int64_t port, json_t **out, struct err *e)
{
	__attribute__((cleanup(release_token))) struct fresh_token t = { 0 };
	auto_rows struct rows *r = NULL;
	struct session_row s;
	char text[PORT_TEXT_MAX];
	bool left;

	if (begin_token(ctl, id, tenant, port, &s, &t, text, e) < 0)
		return -1;
	if (STORE_RUN(ctl->store, STMT_PORT_ROTATE, &r, e, id, tenant, text,
		t.hash, t.sealed.data) < 0)
		return -1;
	if (rows_count(r) == 0 && is_over(&s))
		return refuse_over(&s, e);
	if (rows_count(r) == 0)
		return err_set(e, ERR_NOT_FOUND, CODE_PORT_NOT_EXPOSED,
		    "port %" PRId64 " is not exposed", port);
	CRASH_POINT("rotate.intent");
	if (rows_json(r, 0, "json", out, e) < 0)
		return -1;
	return relay_settle_port(ctl, id, port, &left, e);
}

int
preview_remove(struct control *ctl, const char *id, const char *tenant,
    int64_t port, bool *gone, struct err *e)
{
	auto_rows struct rows *r = NULL;
	struct session_row s;
	struct err why = { 0 };
	char text[PORT_TEXT_MAX];
	bool left = true;

	if (control_session(ctl, id, tenant, &s, e) < 0)
		return -1;
	snprintf(text, sizeof(text), "%" PRId64, port);
	if (STORE_RUN(ctl->store, STMT_PORT_CLOSE, &r, e, id, tenant, text) < 0)
		return -1;
	if (rows_count(r) == 0)
		return err_set(e, ERR_NOT_FOUND, CODE_PORT_NOT_EXPOSED,
		    "port %" PRId64 " is not exposed", port);
	CRASH_POINT("unexpose.intent");
	/* visitors are refused from here on; the reaper finishes the rest */
	if (relay_settle_port(ctl, id, port, &left, &why) < 0) {
		log_err(LOG_WARN, "unexpose_goes_on", &why);
		left = true;
	}
	*gone = !left;
	return 0;
}
