/*
 * router.h: routes are a table.
 *
 * Patterns are literal segments, `:name` for one segment, and a trailing `*`
 * for the rest.  Matching never allocates and looks only at nginx's
 * normalised path.
 */
#ifndef SANDLEASE_WEB_ROUTER_H
#define SANDLEASE_WEB_ROUTER_H

#include <stddef.h>

#include "common/err.h"
#include "common/json.h"
#include "web/call.h"

typedef int handler_fn(struct call *c, struct err *e);

struct route {
	const char *method;
	const char *pattern;
	int access; /* the program's own: who may call it */
	handler_fn *handle;
	int hold;                  /* the program's own: how long it may take */
	const struct jfield *body; /* NULL: the route takes none */
	const size_t *body_count;
	/* the program's own: members that a body may have, comma separated;
	 * NULL: nobody looks */
	const char *fields;
	const char
	    *query; /* names of its query parameters, with blanks between */
	const char *help; /* one line, for --routes and the OpenAPI document */
};

/*
 * Finds the route and fills in c->vars.  NULL with ERR_NOT_FOUND when no
 * pattern fits; with ERR_METHOD, and an Allow header added to the answer,
 * when one fits but for its method.
 */
const struct route *router_match(const struct route *routes, size_t count,
    struct call *c, struct err *e);

/*
 * The route that may have been meant by a path that none fits: one that begins
 * like it, else the one with the fewest slips; NULL: none is near.
 */
const struct route *router_nearest(const struct route *routes, size_t count,
    const char *path);

/*
 * Refuses a query with a parameter that the route does not have, that comes
 * twice or that has no value: what is mistyped would be ignored otherwise.
 */
int router_check_query(const struct route *r, const struct call *c,
    struct err *e) MUST_CHECK;

#endif
