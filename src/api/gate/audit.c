/* audit.c: writes refused calls to the audit log. */
#include "api/gate/audit.h"

#include <stdlib.h>

#include "common/log.h"
#include "common/mem.h"

static void
keep_note(struct call *c, const char *what, json_t *spec)
{
	struct app *app = app_of(c);
	const char *from = call_param(c, "REMOTE_ADDR");

	json_object_set_new(spec, "note", json_string(what));
	json_object_set_new(spec, "trace", json_string(c->trace_id));
	if (from[0] != '\0')
		json_object_set_new(spec, "from", json_string(from));
	free(app->note);
	app->note = control_spec_text(spec);
}

void
audit_key(struct call *c, const struct credential *k)
{
	if (k->kind == CREDENTIAL_TICKET)
		keep_note(c, "ticket",
		    json_pack("{s:s, s:s}", "session",
			call_param(c, "SL_SESSION"), "hash", k->hash));
	else
		keep_note(c, "key",
		    json_pack("{s:s*, s:b}", "hash", k->given ? k->hash : NULL,
			"login", k->kind == CREDENTIAL_LOGIN));
}

void
audit_session(struct call *c, const char *session, const struct credential *k)
{
	json_t *spec = json_pack("{s:s}", "session", session);

	if (k != NULL)
		json_object_update_new(spec,
		    json_pack("{s:s, s:b}", "hash", k->hash, "login",
			k->kind == CREDENTIAL_LOGIN));
	else
		json_object_set_new(spec, "keyId",
		    json_string(app_of(c)->who.key_id));
	keep_note(c, "session", spec);
}

void
audit_preview(struct call *c, const char *session, const char *port,
    const char *hash)
{
	keep_note(c, "preview",
	    json_pack("{s:s, s:s, s:s}", "session", session, "port", port,
		"hash", hash));
}

void
audit_port(struct call *c, const char *session, int64_t port)
{
	const struct principal *who = &app_of(c)->who;

	keep_note(c, "port",
	    json_pack("{s:s, s:I, s:s, s:s}", "session", session, "port",
		(json_int_t)port, "tenant", who->tenant, "keyId", who->key_id));
}

void
audit_flush(struct app *app)
{
	auto_free char *spec = app->note;
	struct err e = { 0 };

	app->note = NULL;
	if (spec == NULL)
		return;
	if (STORE_RUN(app->store, STMT_AUDIT_NOTE, NULL, &e, spec) < 0)
		log_err(LOG_WARN, "audit", &e);
}
