/* gate.c: what nginx asks on behalf of others. */
#include "api/gate/gate.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/app.h"
#include "api/dress.h"
#include "api/gate/access.h"
#include "api/gate/audit.h"
#include "api/gate/first_work.h"
#include "api/gate/refusals.h"
#include "api/gate/sandbox_name.h"
#include "api/gate/ticket.h"
#include "api/share.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/token.h"
#include "control/relay_control.h"
#include "control/start.h"
#include "web/reply.h"

enum { WAKE_MS = 10000, WAKE_PREVIEW_MS = 5000 };

static void
deny(struct call *c, enum err_code code)
{
	call_header(c, "X-Sandlease-Deny", code_word(code));
	call_reply_empty(c, 403);
}

static void
deny_key(struct call *c, const struct credential *k)
{
	audit_key(c, k);
	deny(c,
	    k->kind == CREDENTIAL_TICKET ? CODE_INVALID_TICKET
					 : CODE_UNAUTHORIZED);
}

static void
deny_session(struct call *c, const char *id, const struct credential *k)
{
	if (id[0] != '\0') /* nginx leaves out what cannot be an id */
		audit_session(c, id, k);
	deny(c, CODE_SESSION_NOT_FOUND);
}

/*
 * Another host has the sandbox: its socket is there, and a wake-up here would
 * take what cannot be seen for gone.  The host's name goes along to deny_gate.
 */
static bool
deny_elsewhere(struct call *c, const struct rows *r)
{
	auto_free char *why = NULL;

	if (rows_null(r, 0, "elsewhere"))
		return false;
	why = xasprintf("%s:%s", code_word(CODE_OTHER_HOST),
	    rows_text(r, 0, "elsewhere"));
	call_header(c, "X-Sandlease-Deny", why);
	call_reply_empty(c, 403);
	return true;
}

/* 401 is nginx's way to the wake location; nobody outside sees it. */
static void
say_wake(struct call *c, const struct rows *r)
{
	if (deny_elsewhere(c, r))
		return;
	call_header(c, "X-Sandlease-Deny", "wake");
	call_reply_empty(c, 401);
}

/* The upstream is built from the row: a stale wrapper cannot be named. */
static void
admit(struct call *c, const struct rows *r, const char *port)
{
	auto_free char *up = NULL;

	if (deny_elsewhere(c, r))
		return;
	up = xasprintf("unix:%s/s/%s.%" PRId64 "%s%s.sock",
	    app_of(c)->conf->run_dir, call_param(c, "SL_SESSION"),
	    rows_int(r, 0, "generation"), port[0] != '\0' ? "." : "", port);
	first_work_note(c, r);
	call_header(c, "X-Sandlease-Upstream", up);
	call_reply_empty(c, 204);
}

static void
say_unavailable(struct call *c, const struct err *e)
{
	log_err(LOG_ERROR, "auth", e);
	deny(c, CODE_DATABASE_UNAVAILABLE);
}

/* It asks how things are and must not change them: no activity, no wake-up. */
static bool
is_probe(const struct call *c)
{
	return str_equal(call_param(c, "HTTP_X_SANDLEASE_PROBE"), "1");
}

static bool
has_wrapper(const struct rows *r)
{
	return state_session_parse(rows_text(r, 0, "state")) == SESSION_READY &&
	    state_lease_parse(rows_text(r, 0, "lease")) == LEASE_OWNS_WRAPPER;
}

/* What a session says to a call that needs its wrapper, and there is none. */
static void
answer_unready(struct call *c, const struct rows *r)
{
	switch (state_session_parse(rows_text(r, 0, "state"))) {
	case SESSION_UNKNOWN:
	case SESSION_DELETING:
		deny(c, CODE_SESSION_DELETING);
		return;
	case SESSION_DELETED:
		deny(c, CODE_SESSION_DELETED);
		return;
	case SESSION_FAILED:
		deny(c, CODE_SESSION_FAILED);
		return;
	case SESSION_LOST:
		deny(c, CODE_SESSION_LOST);
		return;
	case SESSION_INITIALIZING:
	case SESSION_READY: /* its wrapper is being stopped, or is gone */
	case SESSION_SLEEPING:
	case SESSION_ASLEEP:
		break;
	}
	if (is_probe(c))
		deny(c, CODE_SESSION_ASLEEP);
	else
		say_wake(c, r);
}

/* A WebSocket begins as a GET, and then anything may be said on it. */
static bool
reads_only(const struct call *c)
{
	return (str_equal(c->method, "GET") || str_equal(c->method, "HEAD")) &&
	    !ticket_upgrades(c);
}

/*
 * SDKs read files by POST.  A key that may only read may do that, as it may GET
 * files/; the wrapper finds its route by the same path.
 */
static bool
reads_by_post(const struct call *c)
{
	static const char *const ROUTES_THAT_READ[] = { "read", "read/stream",
		"list-files", "exists" };
	auto_free char *prefix =
	    xasprintf("/v1/sessions/%s/api/", call_param(c, "SL_SESSION"));

	if (!str_equal(c->method, "POST") || !str_starts(c->path, prefix))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(ROUTES_THAT_READ); i++)
		if (str_equal(c->path + strlen(prefix), ROUTES_THAT_READ[i]))
			return true;
	return false;
}

/* ---- proxy/{port}: nginx names the port */

static bool
is_proxied(const struct call *c)
{
	return call_param(c, "SL_PORT")[0] != '\0';
}

/* What no port can be written like is port 0, which nobody exposes. */
static const char *
proxied_port(const struct call *c)
{
	const char *port = call_param(c, "SL_PORT");
	int64_t n;

	if (!is_proxied(c))
		return "";
	return port[0] != '0' && str_to_int(port, 1, 65535, &n) ? port : "0";
}

/*
 * nginx has routed by its own reading of the path; the app gets the rest of
 * the raw one, so that must agree.
 */
static bool
raw_path_agrees(const struct call *c)
{
	auto_free char *prefix = xasprintf("/v1/sessions/%s/proxy/%s",
	    call_param(c, "SL_SESSION"), call_param(c, "SL_PORT"));
	const char *uri = call_param(c, "REQUEST_URI");

	/* up to a slash, the query or its end */
	return str_starts(uri, prefix) &&
	    strchr("/?", uri[strlen(prefix)]) != NULL;
}

/* ---- may it? */

/*
 * Why the dashboard's cookie does not count for this call, or CODE_NONE.
 *
 * A browser sends the cookie with whatever a page asks for, a tenant's page
 * included.  So it counts for scripts of the dashboard only, and never at
 * proxy/{port}: what answers there is a tenant's program.
 */
static enum err_code
refuse_cookie(const struct call *c, bool reads)
{
	bool opens_socket = ticket_upgrades(c) && ticket_purpose(c)[0] != '\0';
	struct err e = { 0 };

	if (is_proxied(c))
		return CODE_UNAUTHORIZED;
	if (!reads && access_same_origin(c, &e) < 0)
		return e.code;
	/* every browser tells the Origin of a WebSocket, not every one more */
	if (!opens_socket && access_own_script(c, &e) < 0)
		return e.code;
	return CODE_NONE;
}

static void
auth_session(struct call *c)
{
	struct app *app = app_of(c);
	auto_rows struct rows *r = NULL;
	const char *id = call_param(c, "SL_SESSION");
	const char *purpose = ticket_purpose(c);
	bool reads = reads_only(c) && purpose[0] == '\0';
	bool path_agrees = !is_proxied(c) || raw_path_agrees(c);
	enum access needs =
	    reads || reads_by_post(c) ? ACCESS_READ : ACCESS_TENANT;
	enum err_code why = CODE_NONE;
	struct credential k;
	struct err e = { 0 };
	char every[24];

	if (ticket_credential(c, &k, &e) < 0 || !k.given) {
		if (e.kind != ERR_NONE) /* something, but no key */
			audit_key(c, &k);
		deny(c, CODE_UNAUTHORIZED);
		return;
	}
	if (k.kind == CREDENTIAL_LOGIN &&
	    refuse_cookie(c, reads) != CODE_NONE) {
		deny(c, refuse_cookie(c, reads));
		return;
	}
	snprintf(every, sizeof(every), "%" PRId64,
	    app->conf->activity_write_seconds);
	if (STORE_RUN(app->store, STMT_AUTH_SESSION, &r, &e, k.hash,
		CREDENTIAL_NAMES[k.kind], id, every,
		is_probe(c) || !path_agrees ? "true" : "false", c->trace_id,
		proxied_port(c), purpose, c->request_id, ACCESS_NAMES[needs],
		app->conf->host_name) < 0)
		say_unavailable(c, &e);
	else if (rows_null(r, 0, "scope"))
		deny_key(c, &k);
	else if (!access_scope_allows(rows_text(r, 0, "scope"), needs))
		deny(c, CODE_FORBIDDEN);
	else if (rows_null(r, 0, "state"))
		deny_session(c, id, &k);
	else if (!path_agrees)
		deny(c, CODE_VALIDATION_FAILED);
	else if (is_proxied(c) && !rows_bool(r, 0, "exposed"))
		deny(c, CODE_PORT_NOT_EXPOSED);
	else if (rows_bool(r, 0, "frozen"))
		deny(c, CODE_SESSION_FROZEN); /* its wrapper would not answer */
	else if (!is_probe(c) && (why = sandbox_name_give(c, r)) != CODE_NONE)
		deny(c, why);
	else if (has_wrapper(r)) {
		/* for the pool `stream`: what the key opens ends with it */
		call_header(c, "X-Sandlease-Key", rows_text(r, 0, "key_id"));
		/* the pool `stream` counts by it */
		call_header(c, "X-Sandlease-Tenant", rows_text(r, 0, "tenant"));
		admit(c, r, proxied_port(c));
	} else
		answer_unready(c, r);
}

/* Reads the port's row if the token is the right one; else invalid_token. */
static int
read_preview(struct call *c, struct rows **r, struct err *e)
{
	struct app *app = app_of(c);
	const char *id = call_param(c, "SL_SESSION");
	const char *port = call_param(c, "SL_PORT");
	char hash[TOKEN_HASH_HEX_MAX], every[24];
	int64_t n;

	if (!str_to_int(port, 1, 65535, &n))
		return err_set(e, ERR_NOT_FOUND, CODE_INVALID_TOKEN,
		    "bad port");
	token_hash(call_param(c, "SL_TOKEN"), hash);
	snprintf(every, sizeof(every), "%" PRId64,
	    app->conf->activity_write_seconds);
	if (STORE_RUN(app->store, STMT_AUTH_PREVIEW, r, e, id, port, hash,
		every, is_probe(c) ? "true" : "false", c->trace_id,
		app->conf->host_name) < 0)
		return -1;
	if (rows_count(*r) == 0 ||
	    !token_equal(rows_text(*r, 0, "token_hash"), hash)) {
		audit_preview(c, id, port, hash);
		return err_set(e, ERR_NOT_FOUND, CODE_INVALID_TOKEN,
		    "bad token");
	}
	return 0;
}

static bool
can_wake(const struct rows *r)
{
	enum session_state s = state_session_parse(rows_text(r, 0, "state"));

	return s != SESSION_FAILED && s != SESSION_LOST;
}

static void
auth_preview(struct call *c)
{
	auto_rows struct rows *r = NULL;
	struct err e = { 0 };

	if (read_preview(c, &r, &e) < 0) {
		if (e.kind == ERR_NOT_FOUND)
			deny(c, CODE_INVALID_TOKEN);
		else
			say_unavailable(c, &e);
		return;
	}
	call_header(c, "X-Sandlease-Name", rows_text(r, 0, "name"));
	call_header(c, "X-Sandlease-Host", rows_text(r, 0, "host"));
	if (rows_bool(r, 0, "frozen"))
		deny(c, CODE_SESSION_FROZEN);
	else if (has_wrapper(r))
		admit(c, r, call_param(c, "SL_PORT"));
	else if (rows_bool(r, 0, "wake_on_preview") && !is_probe(c) &&
	    can_wake(r))
		say_wake(c, r);
	else
		deny(c, CODE_STALE_PREVIEW_URL);
}

static void
deny_gate(struct call *c)
{
	struct err e = { 0 }, why = { 0 };

	refusal_read(call_param(c, "SL_DENY"), &e);
	/* what is wrong with the headers themselves can be told exactly */
	if (e.code == CODE_UNAUTHORIZED &&
	    access_credential(c, &(struct credential){ 0 }, &why) < 0)
		e = why;
	if (str_equal(call_param(c, "SL_SURFACE"), "preview"))
		dress_preview(c, &e);
	else if (e.code == CODE_PORT_NOT_EXPOSED)
		reply_proxy_error(c, &e, "Port not found",
		    call_param(c, "SL_PORT"));
	else
		dress_container(c, &e, e.code);
}

/* `org` has the session; `tenant` is who asks, "" for a preview's visitor. */
static int
start_for(struct call *c, const char *org, const char *tenant, int64_t wait_ms,
    struct err *e)
{
	struct app *app = app_of(c);
	struct control *ctl = app_control(c, e);

	if (ctl == NULL)
		return -1;
	/* a preview's token stands for nobody in particular */
	if (tenant[0] != '\0')
		snprintf(ctl->actor, sizeof(ctl->actor), "gate:%s/%s",
		    app->who.key_id, app->who.user);
	else
		str_copy(ctl->actor, sizeof(ctl->actor), "gate");
	if (share_enter(app->share, app->worker, org, SHARE_ENDS_SOON,
		&app->hold_ms, e) < 0)
		return -1;
	return start_session(ctl, call_param(c, "SL_SESSION"), tenant,
	    app_deadline(c, wait_ms), e);
}

/* auth_session has let it in; meanwhile its key may have been revoked. */
static int
check_again(struct call *c, struct err *e)
{
	struct credential k;

	if (ticket_credential(c, &k, e) < 0)
		return -1;
	return access_check_as(c, &k, ACCESS_READ, e);
}

/* Where nginx sends the same request once more. */
static const char *
again(const struct call *c)
{
	if (call_param(c, "SL_WS")[0] != '\0')
		return "@ws_again";
	return is_proxied(c) ? "@proxy_again" : "@session_again";
}

/* Of a request that nobody can send on any more. */
static void
say_woken(struct err *e)
{
	err_set(e, ERR_UNAVAILABLE, CODE_WAKING,
	    "the session was asleep and has been woken; send it again");
}

static void
wake_session(struct call *c)
{
	struct err e = { 0 };

	if (check_again(c, &e) < 0 ||
	    start_for(c, app_of(c)->who.tenant, app_of(c)->who.tenant, WAKE_MS,
		&e) < 0) {
		dress_container(c, &e, CODE_CONTAINER_STARTING);
		return;
	}
	if (call_param(c, "SL_BODY")[0] != '\0') {
		say_woken(&e);
		dress_container(c, &e, CODE_WAKING);
		return;
	}
	call_header(c, "X-Accel-Redirect", again(c));
	call_reply_empty(c, 200);
}

static void
wake_preview(struct call *c)
{
	auto_rows struct rows *r = NULL;
	auto_free char *url = NULL;
	struct err e = { 0 };

	if (read_preview(c, &r, &e) < 0 ||
	    start_for(c, rows_text(r, 0, "tenant"), "", WAKE_PREVIEW_MS, &e) <
		0) {
		if (e.kind == ERR_BUSY)
			e.kind = ERR_UNAVAILABLE;
		dress_preview(c, &e);
		return;
	}
	if (!reads_only(c)) {
		say_woken(&e);
		dress_preview(c, &e);
		return;
	}
	url = xasprintf("%s://%s%s", call_param(c, "SL_SCHEME"),
	    call_param(c, "SL_HOST"), call_param(c, "REQUEST_URI"));
	call_header(c, "Location", url);
	call_header(c, "Cache-Control", "no-store");
	call_reply_empty(c, 307);
}

/* '-' means nothing was sent: safe to send again, once it is repaired. */
static bool
nothing_was_sent(const struct call *c)
{
	const char *t = call_param(c, "SL_CONNECT");

	return t[0] == '\0' || t[0] == '-';
}

static void
say_probed(struct err *e)
{
	err_set(e, ERR_UNAVAILABLE, CODE_CONTAINER_UNAVAILABLE,
	    "the session's agent has died, and a probe does not replace it");
}

/*
 * Repairs what did not answer.  A wrapper that is gone comes back with its
 * relays; one that is there may have lost the relay of this port.
 */
static int
repair(struct call *c, const char *org, const char *tenant, int64_t wait_ms,
    struct err *e)
{
	int64_t port;

	if (start_for(c, org, tenant, wait_ms, e) < 0)
		return -1;
	if (!str_to_int(call_param(c, "SL_PORT"), 1, 65535, &port))
		return 0;
	return relay_repair(app_control(c, e), call_param(c, "SL_SESSION"),
	    port, e);
}

static void
dead_session(struct call *c)
{
	struct err e = { 0 };

	if (!nothing_was_sent(c) && is_proxied(c)) {
		err_set(&e, ERR_BAD_GATEWAY, CODE_SERVICE_NOT_RESPONDING,
		    "the port closed the connection");
		reply_proxy_error(c, &e, "Proxy error",
		    call_param(c, "SL_PORT"));
		return;
	}
	if (!nothing_was_sent(c)) {
		/* never 503 here: SDKs would run the command a second time */
		err_set(&e, ERR_INTERNAL, CODE_CONNECTION_LOST,
		    "the session's agent went away with the request in hand");
		reply_container_error(c, &e, NULL);
		return;
	}
	if (check_again(c, &e) < 0) {
		dress_container(c, &e, CODE_WRAPPER_UNAVAILABLE);
		return;
	}
	if (is_probe(c)) {
		say_probed(&e);
		dress_container(c, &e, CODE_WRAPPER_UNAVAILABLE);
		return;
	}
	if (repair(c, app_of(c)->who.tenant, app_of(c)->who.tenant, WAKE_MS,
		&e) == 0)
		err_set(&e, ERR_UNAVAILABLE, CODE_CONTAINER_UNAVAILABLE,
		    "the session could not be reached and was repaired; send the request again");
	dress_container(c, &e, CODE_CONTAINER_REPLACED);
}

static void
dead_preview(struct call *c)
{
	auto_rows struct rows *r = NULL;
	struct err e = { 0 };

	if (read_preview(c, &r, &e) == 0) {
		if (!nothing_was_sent(c))
			err_set(&e, ERR_BAD_GATEWAY, CODE_CONNECTION_LOST,
			    "the port closed the connection");
		else if (is_probe(c))
			say_probed(&e);
		else if (repair(c, rows_text(r, 0, "tenant"), "",
			     WAKE_PREVIEW_MS, &e) == 0)
			err_set(&e, ERR_UNAVAILABLE, CODE_CONTAINER_UNAVAILABLE,
			    "the session could not be reached and was repaired; try again");
		else if (e.kind == ERR_BUSY)
			e.kind = ERR_UNAVAILABLE;
	}
	dress_preview(c, &e);
}

struct gate {
	const char *route;
	gate_fn *fn;
};

static const struct gate GATES[] = {
	{ "auth-session", auth_session },
	{ "auth-preview", auth_preview },
	{ "deny", deny_gate },
	{ "wake-session", wake_session },
	{ "wake-preview", wake_preview },
	{ "dead-session", dead_session },
	{ "dead-preview", dead_preview },
};

gate_fn *
gate_find(const char *route)
{
	for (size_t i = 0; i < ARRAY_LEN(GATES); i++)
		if (str_equal(GATES[i].route, route))
			return GATES[i].fn;
	return NULL;
}
