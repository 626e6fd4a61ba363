/* auth.c: decides whether a request may go to a session's wrapper or port. */
#include "api/gate/auth.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/app.h"
#include "api/gate/access.h"
#include "api/gate/audit.h"
#include "api/gate/auth_cache.h"
#include "api/gate/first_work.h"
#include "api/gate/request.h"
#include "api/gate/sandbox_name.h"
#include "api/gate/ticket.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/token.h"

/* ---- the answers */

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
	if (id[0] != '\0') /* nginx passes "" for a malformed id */
		audit_session(c, id, k);
	deny(c, CODE_SESSION_NOT_FOUND);
}

/*
 * Refuses if another host has the sandbox.  The wrapper's socket is on that
 * host, and a wake-up here would not see the sandbox and take it for gone.  The
 * host's name is part of the reason, for deny_gate().
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

/* 401 makes nginx go to the wake location; clients never see this status. */
static void
answer_wake(struct call *c, const struct rows *r)
{
	if (deny_elsewhere(c, r))
		return;
	call_header(c, "X-Sandlease-Deny", "wake");
	call_reply_empty(c, 401);
}

/* The socket's name has the row's generation: an old wrapper gets nothing. */
static char *
upstream_of(struct call *c, const struct rows *r, const char *port)
{
	return xasprintf("unix:%s/s/%s.%" PRId64 "%s%s.sock",
	    app_of(c)->conf->run_dir, call_param(c, "SL_SESSION"),
	    rows_int(r, 0, "generation"), port[0] != '\0' ? "." : "", port);
}

static void
admit(struct call *c, const struct admission *what)
{
	call_header(c, "X-Sandlease-Upstream", what->upstream);
	call_reply_empty(c, 204);
}

static void
answer_unavailable(struct call *c, const struct err *e)
{
	log_err(LOG_ERROR, "auth", e);
	deny(c, CODE_DATABASE_UNAVAILABLE);
}

static bool
has_wrapper(const struct rows *r)
{
	return state_session_parse(rows_text(r, 0, "state")) == SESSION_READY &&
	    state_lease_parse(rows_text(r, 0, "lease")) == LEASE_OWNS_WRAPPER;
}

/* Answers a call to a session that has no wrapper now. */
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
	case SESSION_READY: /* the wrapper is being stopped, or is gone */
	case SESSION_SLEEPING:
	case SESSION_ASLEEP:
		break;
	}
	if (request_is_probe(c))
		deny(c, CODE_SESSION_ASLEEP);
	else
		answer_wake(c, r);
}

/*
 * Whether a POST only reads: SDKs read files by POST.  A key of scope `read`
 * may do that, as it may GET files/.  The wrapper finds its route by the same
 * path.
 */
static bool
reads_by_post(const struct call *c)
{
	static const char *const ROUTES_THAT_READ[] = { "api/read",
		"api/read/stream", "api/list-files", "api/exists" };
	const char *rest = request_rest(c);

	if (!str_equal(c->method, "POST"))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(ROUTES_THAT_READ); i++)
		if (str_equal(rest, ROUTES_THAT_READ[i]))
			return true;
	return false;
}

/* ---- proxy/{port}: nginx names the port */

/* The port that nginx names; 0, which is never exposed, if it is malformed. */
static const char *
proxied_port(const struct call *c)
{
	const char *port = call_param(c, "SL_PORT");
	int64_t n;

	if (!request_is_proxied(c))
		return "";
	return port[0] != '0' && str_to_int(port, 1, 65535, &n) ? port : "0";
}

/*
 * Whether the raw path names the same session and port as the path that nginx
 * has decoded.  nginx routes by the decoded path, but the app gets the rest of
 * the raw one.
 */
static bool
raw_path_agrees(const struct call *c)
{
	auto_free char *prefix = xasprintf("/v1/sessions/%s/proxy/%s",
	    call_param(c, "SL_SESSION"), call_param(c, "SL_PORT"));
	const char *uri = call_param(c, "REQUEST_URI");

	/* a slash, the query or the end follows */
	return str_starts(uri, prefix) &&
	    strchr("/?", uri[strlen(prefix)]) != NULL;
}

/* ---- answers that are kept */

/*
 * The answer that was kept for this right; NULL: there is none.  A probe is not
 * activity, so an answer to a probe says nothing about the next request: probes
 * go past the cache.
 */
static const struct admission *
find_kept(struct call *c, const struct auth_right *right, struct auth_lookup *l)
{
	struct auth_cache *cache = app_of(c)->cache;

	*l = (struct auth_lookup){ .fresh = false };
	if (cache == NULL || request_is_probe(c))
		return NULL;
	return auth_cache_find(cache, right, l);
}

static void
keep(struct call *c, const struct auth_right *right,
    const struct auth_lookup *l, const struct admission *what,
    const struct rows *r)
{
	if (l->fresh && !rows_null(r, 0, "keep_ms"))
		auth_cache_keep(app_of(c)->cache, right, l, what,
		    rows_int(r, 0, "keep_ms"));
}

/* ---- a session */

/*
 * The reason to refuse the dashboard's cookie for this call, or CODE_NONE.
 *
 * A browser sends the cookie with every request of a page, even a tenant's
 * page.  So the cookie is valid for scripts of the dashboard only.  It is never
 * valid at proxy/{port}, where a tenant's program answers.
 */
static enum err_code
refuse_cookie(const struct call *c, bool reads)
{
	bool opens_socket = request_upgrades(c) && ticket_purpose(c)[0] != '\0';
	struct err e = { 0 };

	if (request_is_proxied(c))
		return CODE_UNAUTHORIZED;
	if (!reads && access_same_origin(c, &e) < 0)
		return e.code;
	/* not every browser sends Sec-Fetch-* with a WebSocket, but all send
	 * Origin, which is checked above */
	if (!opens_socket && access_own_script(c, &e) < 0)
		return e.code;
	return CODE_NONE;
}

/* Whether the kept answer is one to this request, too. */
static bool
session_answer_fits(const struct call *c, const struct admission *kept,
    enum access_level needs)
{
	return kept != NULL && kept->scope >= needs &&
	    !(kept->nameless && sandbox_name_given(c));
}

static void
admit_to_session(struct call *c, const struct admission *what)
{
	/* the pool `stream` cuts a stream when its key is revoked */
	call_header(c, "X-Sandlease-Key", what->by);
	/* the pool `stream` limits the streams of a tenant */
	call_header(c, "X-Sandlease-Tenant", what->text);
	admit(c, what);
}

static void
admit_by_row(struct call *c, const struct auth_right *right,
    const struct auth_lookup *l, const struct rows *r)
{
	auto_free char *upstream = upstream_of(c, r, right->port);
	struct admission what = { .upstream = upstream,
		.scope = access_scope_parse(rows_text(r, 0, "scope")),
		.nameless = rows_bool(r, 0, "nameless"),
		.by = rows_text(r, 0, "key_id"),
		.text = rows_text(r, 0, "tenant") };

	if (deny_elsewhere(c, r))
		return;
	keep(c, right, l, &what, r);
	first_work_note(c, r);
	admit_to_session(c, &what);
}

void
auth_session(struct call *c)
{
	struct app *app = app_of(c);
	auto_rows struct rows *r = NULL;
	const char *id = call_param(c, "SL_SESSION");
	const char *purpose = ticket_purpose(c);
	bool reads = request_reads_only(c) && purpose[0] == '\0';
	bool path_agrees = !request_is_proxied(c) || raw_path_agrees(c);
	enum access_level needs =
	    reads || reads_by_post(c) ? ACCESS_READ : ACCESS_TENANT;
	enum err_code why = CODE_NONE;
	const struct admission *kept = NULL;
	struct auth_lookup looked = { .fresh = false };
	struct credential k;
	struct auth_right right = { .session = id,
		.port = proxied_port(c),
		.hash = k.hash };
	struct err e = { 0 };
	char every[24];

	if (ticket_credential(c, &k, &e) < 0 || !k.given) {
		if (e.kind != ERR_NONE) /* a malformed credential */
			audit_key(c, &k);
		deny(c, CODE_UNAUTHORIZED);
		return;
	}
	if (k.kind == CREDENTIAL_LOGIN &&
	    refuse_cookie(c, reads) != CODE_NONE) {
		deny(c, refuse_cookie(c, reads));
		return;
	}
	/* a ticket is for one request; a cookie may end with its login */
	if (k.kind == CREDENTIAL_KEY && path_agrees)
		kept = find_kept(c, &right, &looked);
	if (session_answer_fits(c, kept, needs)) {
		admit_to_session(c, kept);
		return;
	}
	snprintf(every, sizeof(every), "%" PRId64,
	    app->conf->activity_write_seconds);
	if (STORE_RUN(app->store, STMT_AUTH_SESSION, &r, &e, k.hash,
		CREDENTIAL_NAMES[k.kind], id, every,
		request_is_probe(c) || !path_agrees ? "true" : "false",
		c->trace_id, right.port, purpose, c->request_id,
		ACCESS_NAMES[needs], app->conf->host_name) < 0)
		answer_unavailable(c, &e);
	else if (rows_null(r, 0, "scope"))
		deny_key(c, &k);
	else if (!access_scope_allows(rows_text(r, 0, "scope"), needs))
		deny(c, CODE_FORBIDDEN);
	else if (rows_null(r, 0, "state"))
		deny_session(c, id, &k);
	else if (!path_agrees)
		deny(c, CODE_VALIDATION_FAILED);
	else if (request_is_proxied(c) && !rows_bool(r, 0, "exposed"))
		deny(c, CODE_PORT_NOT_EXPOSED);
	else if (rows_bool(r, 0, "frozen"))
		deny(c, CODE_SESSION_FROZEN); /* the wrapper cannot answer */
	else if (!request_is_probe(c) &&
	    (why = sandbox_name_give(c, r)) != CODE_NONE)
		deny(c, why);
	else if (has_wrapper(r))
		admit_by_row(c, &right, &looked, r);
	else
		answer_unready(c, r);
}

/* ---- a preview */

/* Reads the row of a preview's port; `hash` is that of the token in its URL. */
static int
read_preview(struct call *c, const char *hash, struct rows **r, struct err *e)
{
	struct app *app = app_of(c);
	const char *id = call_param(c, "SL_SESSION");
	const char *port = call_param(c, "SL_PORT");
	char every[24];
	int64_t n;

	if (!str_to_int(port, 1, 65535, &n))
		return err_set(e, ERR_NOT_FOUND, CODE_INVALID_TOKEN,
		    "bad port");
	snprintf(every, sizeof(every), "%" PRId64,
	    app->conf->activity_write_seconds);
	if (STORE_RUN(app->store, STMT_AUTH_PREVIEW, r, e, id, port, hash,
		every, request_is_probe(c) ? "true" : "false", c->trace_id,
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

int
auth_read_preview(struct call *c, struct rows **r, struct err *e)
{
	char hash[TOKEN_HASH_HEX_MAX];

	token_hash(call_param(c, "SL_TOKEN"), hash);
	return read_preview(c, hash, r, e);
}

static bool
can_wake(const struct rows *r)
{
	enum session_state s = state_session_parse(rows_text(r, 0, "state"));

	return s != SESSION_FAILED && s != SESSION_LOST;
}

static void
tell_preview(struct call *c, const struct admission *what)
{
	call_header(c, "X-Sandlease-Name", what->text);
	call_header(c, "X-Sandlease-Host", what->by);
}

static void
answer_preview(struct call *c, const struct auth_right *right,
    const struct auth_lookup *l, const struct rows *r)
{
	auto_free char *upstream = upstream_of(c, r, right->port);
	struct admission what = { .upstream = upstream,
		.by = rows_text(r, 0, "host"),
		.text = rows_text(r, 0, "name") };

	tell_preview(c, &what);
	if (rows_bool(r, 0, "frozen"))
		deny(c, CODE_SESSION_FROZEN);
	else if (has_wrapper(r)) {
		if (deny_elsewhere(c, r))
			return;
		keep(c, right, l, &what, r);
		first_work_note(c, r);
		admit(c, &what);
	} else if (rows_bool(r, 0, "wake_on_preview") && !request_is_probe(c) &&
	    can_wake(r))
		answer_wake(c, r);
	else
		deny(c, CODE_STALE_PREVIEW_URL);
}

void
auth_preview(struct call *c)
{
	char hash[TOKEN_HASH_HEX_MAX];
	struct auth_right right = { .session = call_param(c, "SL_SESSION"),
		.port = call_param(c, "SL_PORT"),
		.hash = hash,
		.preview = true };
	struct auth_lookup looked;
	const struct admission *kept;
	auto_rows struct rows *r = NULL;
	struct err e = { 0 };

	token_hash(call_param(c, "SL_TOKEN"), hash);
	kept = find_kept(c, &right, &looked);
	if (kept != NULL) {
		tell_preview(c, kept);
		admit(c, kept);
	} else if (read_preview(c, hash, &r, &e) == 0)
		answer_preview(c, &right, &looked, r);
	else if (e.kind == ERR_NOT_FOUND)
		deny(c, CODE_INVALID_TOKEN);
	else
		answer_unavailable(c, &e);
}
