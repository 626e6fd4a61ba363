/*
 * router.h: finds the route of a call in a table.
 *
 * Patterns are literal segments, `:name` for one segment, and a trailing `*`
 * for the rest.  Only nginx's normalised path is matched.
 */
#ifndef SANDLEASE_WEB_ROUTER_H
#define SANDLEASE_WEB_ROUTER_H

#include <stddef.h>

#include "common/err.h"
#include "common/json.h"
#include "web/call.h"

typedef int handler_fn(struct call *c, struct err *e);

/* The router does not read access, hold and fields: each program does. */
struct route {
	const char *method;
	const char *pattern;
	int access; /* in sandlease-api: the rights that a caller needs */
	handler_fn *handle;
	int hold; /* in sandlease-api: how long the call may hold a worker */
	const struct jfield *body; /* NULL: the route takes none */
	const size_t *body_count;
	const char *fields; /* members of the body, comma separated, or NULL */
	const char *query;  /* names of parameters, separated by blanks */
	const char *help; /* one line, for --routes and the OpenAPI document */
};

/*
 * Finds the route and fills in c->vars.  NULL with ERR_NOT_FOUND when no
 * pattern fits.  NULL with ERR_METHOD, and an Allow header in the answer, when
 * a pattern fits but has another method.
 */
const struct route *router_match(const struct route *routes, size_t count,
    struct call *c, struct err *e);

/*
 * For a path that no route fits: the route that the client may have meant.
 * This is one that begins with `path`, else the one with the fewest typing
 * mistakes; NULL: none is similar.
 */
const struct route *router_nearest(const struct route *routes, size_t count,
    const char *path);

/*
 * Refuses a query with a parameter that the route does not have, that comes
 * twice or that has no value.  Otherwise a mistyped parameter would be ignored.
 */
int router_check_query(const struct route *r, const struct call *c,
    struct err *e) MUST_CHECK;

#endif
