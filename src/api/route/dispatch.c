/* dispatch.c: finds a call's handler, checks the call and runs the handler. */
#include "api/route/dispatch.h"

#include <string.h>

#include "api/app.h"
#include "api/error.h"
#include "api/gate/access.h"
#include "api/gate/audit.h"
#include "api/gate/gate.h"
#include "api/org_share.h"
#include "api/route/routes.h"
#include "common/clock.h"
#include "common/log.h"

/* A malformed id is answered like the id of no session. */
static int
check_id(const struct call *c, struct err *e)
{
	const char *id = call_var(c, "id");

	if (id[0] == '\0' || id_is_session(id))
		return 0;
	return err_set(e, ERR_NOT_FOUND, CODE_SESSION_NOT_FOUND,
	    "there is no such session");
}

/*
 * Refuses a path that nginx has changed by decoding it.  An app behind
 * proxy/{port} could redirect its client, which sends its key along, to such a
 * path and so reach another route.  No route needs escapes.
 */
static int
check_path(const struct call *c, struct err *e)
{
	const char *uri = call_param(c, "REQUEST_URI");

	/* SL_PATH is empty without nginx, and then nothing is decoded */
	if (call_param(c, "SL_PATH")[0] == '\0' ||
	    (strcspn(uri, "?") == strlen(c->path) && str_starts(uri, c->path)))
		return 0;
	return err_set(e, ERR_INVALID, CODE_BAD_REQUEST,
	    "write the path without escapes, dots and double slashes");
}

/* Counts the call in its org's share, before the handler does anything. */
static int
enter_share(struct call *c, const struct route *route, struct err *e)
{
	struct app *app = app_of(c);

	if (app->share == NULL || app->who.tenant[0] == '\0')
		return 0;
	return org_share_enter(app->share, app->worker, app->who.tenant,
	    str_equal(route->method, "GET") ? SHARE_READS
					    : (enum share_call)route->hold,
	    &app->hold_ms, e);
}

/*
 * A client that guesses ids learns nothing; the session's owner sees an audit
 * entry.
 */
static void
note_refusal(struct call *c, const struct err *e)
{
	if (e->code == CODE_SESSION_NOT_FOUND &&
	    id_is_session(call_var(c, "id")))
		audit_session(c, call_var(c, "id"), NULL);
}

static void
refuse_container(struct call *c, struct err *e)
{
	if (e->code == CODE_NOT_FOUND)
		err_set(e, ERR_NOT_FOUND, CODE_UNKNOWN_ERROR,
		    "The requested endpoint was not found: %s %.100s",
		    c->method, c->path);
	error_render_container(c, e, e->code);
}

/* Adds advice to a 404 for two common mistakes in the URL. */
static void
refuse_native(struct call *c, struct err *e)
{
	size_t len = strlen(c->path);

	if (e->code == CODE_NOT_FOUND && str_starts(c->path, "/v1/v1/"))
		err_set(e, ERR_NOT_FOUND, CODE_NOT_FOUND,
		    "there is no such route; give the service's address without /v1 at its end");
	else if (e->code == CODE_NOT_FOUND && len > 1 &&
	    c->path[len - 1] == '/')
		err_set(e, ERR_NOT_FOUND, CODE_NOT_FOUND,
		    "there is no such route; leave out the slash at its end");
	error_render_native(c, e, NULL);
}

/* A table of routes, and the error format of its clients. */
struct surface {
	const struct route *routes;
	const size_t *count;
	bool strict; /* refuse unknown query parameters */
	void (*refuse)(struct call *c, struct err *e);
};

static const struct surface NATIVE = { ROUTES, &ROUTE_COUNT, true,
	refuse_native };
static const struct surface CONTAINER = { CONTAINER_ROUTES,
	&CONTAINER_ROUTE_COUNT, false, refuse_container };

static void
handle_route(struct call *c)
{
	/* nginx's location sets the surface */
	const struct surface *s = str_equal(call_param(c, "SL_SURFACE"), "data")
	    ? &CONTAINER
	    : &NATIVE;
	const struct route *route;
	struct err e = { 0 };

	app_of(c)->routes = s->routes;
	app_of(c)->route_count = *s->count;
	route = router_match(s->routes, *s->count, c, &e);
	if (route == NULL || check_path(c, &e) < 0 ||
	    access_check(c, (enum access_level)route->access, &e) < 0 ||
	    check_id(c, &e) < 0 ||
	    (s->strict && router_check_query(route, c, &e) < 0) ||
	    enter_share(c, route, &e) < 0 || route->handle(c, &e) < 0) {
		note_refusal(c, &e);
		if (c->status == 0)
			s->refuse(c, &e);
		else /* the answer has begun: it cannot be replaced */
			log_err(LOG_ERROR, "request_failed", &e);
	}
}

void
dispatch(struct call *c)
{
	struct app *app = app_of(c);
	const char *route = call_param(c, "SL_ROUTE");
	gate_fn *gate = gate_find(route);
	int64_t began = clock_us();

	app->who = (struct principal){ 0 };
	app->hold_ms = SHARE_HOLD_ANY;
	log_context(c->request_id, call_param(c, "SL_SESSION"));
	if (gate != NULL)
		gate(c);
	else
		handle_route(c);
	if (app->share != NULL)
		org_share_leave(app->share, app->worker);
	log_line(gate != NULL ? LOG_DEBUG : LOG_INFO, "request",
	    "%s %s %d %lld us", c->method, gate != NULL ? route : c->path,
	    c->status, (long long)(clock_us() - began));
	log_context("", "");
}
