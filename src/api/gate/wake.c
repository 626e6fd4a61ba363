/*
 * wake.c: wakes or repairs the session of a request that nginx could not pass
 * on.
 */
#include "api/gate/wake.h"

#include <stdio.h>

#include "api/app.h"
#include "api/error.h"
#include "api/gate/access.h"
#include "api/gate/auth.h"
#include "api/gate/request.h"
#include "api/gate/ticket.h"
#include "api/org_share.h"
#include "common/mem.h"
#include "control/relay_control.h"
#include "control/start.h"
#include "web/reply.h"

enum { WAKE_MS = 10000, WAKE_PREVIEW_MS = 5000 };

/*
 * Starts the session, which `org` owns; `tenant` is the client's, "" for the
 * visitor of a preview.
 */
static int
start_for(struct call *c, const char *org, const char *tenant, int64_t wait_ms,
    struct err *e)
{
	struct app *app = app_of(c);
	struct control *ctl = app_control(c, e);

	if (ctl == NULL)
		return -1;
	/* the visitor of a preview has no key that could be the actor */
	if (tenant[0] != '\0')
		snprintf(ctl->actor, sizeof(ctl->actor), "gate:%s/%s",
		    app->who.key_id, app->who.user);
	else
		str_copy(ctl->actor, sizeof(ctl->actor), "gate");
	if (org_share_enter(app->share, app->worker, org, SHARE_ENDS_SOON,
		&app->hold_ms, e) < 0)
		return -1;
	return start_session(ctl, call_param(c, "SL_SESSION"), tenant,
	    app_deadline(c, wait_ms), e);
}

/* auth_session() has admitted the request, but the key may be revoked since. */
static int
check_key_again(struct call *c, struct err *e)
{
	struct credential k;

	if (ticket_credential(c, &k, e) < 0)
		return -1;
	return access_check_as(c, &k, ACCESS_READ, e);
}

/* nginx's named location that passes the same request once more. */
static const char *
retry_location(const struct call *c)
{
	if (call_param(c, "SL_WS")[0] != '\0')
		return "@ws_again";
	return request_is_proxied(c) ? "@proxy_again" : "@session_again";
}

/* For a request that only the client can send a second time. */
static void
set_woken(struct err *e)
{
	err_set(e, ERR_UNAVAILABLE, CODE_WAKING,
	    "the session was asleep and has been woken; send the request again");
}

void
wake_session(struct call *c)
{
	struct err e = { 0 };

	if (check_key_again(c, &e) < 0 ||
	    start_for(c, app_of(c)->who.tenant, app_of(c)->who.tenant, WAKE_MS,
		&e) < 0) {
		error_render_container(c, &e, CODE_CONTAINER_STARTING);
		return;
	}
	if (call_param(c, "SL_BODY")[0] != '\0') {
		set_woken(&e);
		error_render_container(c, &e, CODE_WAKING);
		return;
	}
	call_header(c, "X-Accel-Redirect", retry_location(c));
	call_reply_empty(c, 200);
}

void
wake_preview(struct call *c)
{
	auto_rows struct rows *r = NULL;
	auto_free char *url = NULL;
	struct err e = { 0 };

	if (auth_read_preview(c, &r, &e) < 0 ||
	    start_for(c, rows_text(r, 0, "tenant"), "", WAKE_PREVIEW_MS, &e) <
		0) {
		if (e.kind == ERR_BUSY)
			e.kind = ERR_UNAVAILABLE;
		error_render_preview(c, &e);
		return;
	}
	if (!request_reads_only(c)) {
		set_woken(&e);
		error_render_preview(c, &e);
		return;
	}
	url = xasprintf("%s://%s%s", call_param(c, "SL_SCHEME"),
	    call_param(c, "SL_HOST"), call_param(c, "REQUEST_URI"));
	call_header(c, "Location", url);
	call_header(c, "Cache-Control", "no-store");
	call_reply_empty(c, 307);
}

/* SL_CONNECT is '-' if nginx could not connect: then a repeat is safe. */
static bool
nothing_was_sent(const struct call *c)
{
	const char *t = call_param(c, "SL_CONNECT");

	return t[0] == '\0' || t[0] == '-';
}

static void
set_probed(struct err *e)
{
	err_set(e, ERR_UNAVAILABLE, CODE_CONTAINER_UNAVAILABLE,
	    "the session's agent has died, and a probe does not replace it");
}

/*
 * Repairs a session that did not answer.  If the wrapper is gone, a new one is
 * started, with its relays.  If the wrapper is there, the relay of this port
 * may be gone and is made again.
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

void
dead_session(struct call *c)
{
	struct err e = { 0 };

	if (!nothing_was_sent(c) && request_is_proxied(c)) {
		err_set(&e, ERR_BAD_GATEWAY, CODE_SERVICE_NOT_RESPONDING,
		    "the port closed the connection");
		reply_proxy_error(c, &e, "Proxy error",
		    call_param(c, "SL_PORT"));
		return;
	}
	if (!nothing_was_sent(c)) {
		/* never 503 here: SDKs would run the command a second time */
		err_set(&e, ERR_INTERNAL, CODE_CONNECTION_LOST,
		    "the session's agent ended before it had answered; the request may have been carried out");
		reply_container_error(c, &e, NULL);
		return;
	}
	if (check_key_again(c, &e) < 0) {
		error_render_container(c, &e, CODE_WRAPPER_UNAVAILABLE);
		return;
	}
	if (request_is_probe(c)) {
		set_probed(&e);
		error_render_container(c, &e, CODE_WRAPPER_UNAVAILABLE);
		return;
	}
	if (repair(c, app_of(c)->who.tenant, app_of(c)->who.tenant, WAKE_MS,
		&e) == 0)
		err_set(&e, ERR_UNAVAILABLE, CODE_CONTAINER_UNAVAILABLE,
		    "the session could not be reached and was repaired; send the request again");
	error_render_container(c, &e, CODE_CONTAINER_REPLACED);
}

void
dead_preview(struct call *c)
{
	auto_rows struct rows *r = NULL;
	struct err e = { 0 };

	if (auth_read_preview(c, &r, &e) == 0) {
		if (!nothing_was_sent(c))
			err_set(&e, ERR_BAD_GATEWAY, CODE_CONNECTION_LOST,
			    "the port closed the connection");
		else if (request_is_probe(c))
			set_probed(&e);
		else if (repair(c, rows_text(r, 0, "tenant"), "",
			     WAKE_PREVIEW_MS, &e) == 0)
			err_set(&e, ERR_UNAVAILABLE, CODE_CONTAINER_UNAVAILABLE,
			    "the session could not be reached and was repaired; try again");
		else if (e.kind == ERR_BUSY)
			e.kind = ERR_UNAVAILABLE;
	}
	error_render_preview(c, &e);
}
