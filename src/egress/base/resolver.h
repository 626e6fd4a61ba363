/*
 * resolver.h: resolves names on the host, without blocking the loop (c-ares).
 *
 * The servers are the machine's (/etc/resolv.conf), or those of the setting
 * egress_resolver.  No suffix is added to a name.
 */
#ifndef SANDLEASE_EGRESS_BASE_RESOLVER_H
#define SANDLEASE_EGRESS_BASE_RESOLVER_H

#include "common/address.h"
#include "common/err.h"
#include "egress/base/loop.h"

enum {
	RESOLVED_MAX = 16, /* addresses of a name that are tried */
	RESOLVER_BY_MAX = 160,
	RESOLVER_OWN_MAX = 64 /* names that one asker has under way */
};

enum resolve_status {
	RESOLVE_OK,
	RESOLVE_NO_NAME, /* there is no such name, or it has no address */
	RESOLVE_FAILED,  /* no server has answered */
	RESOLVE_BUSY     /* the asker has too many names under way */
};

struct resolved {
	enum resolve_status status;
	struct address list[RESOLVED_MAX];
	size_t count;
};

typedef void resolved_fn(void *ctx, const struct resolved *r);

struct resolver;
struct resolver_query;

/* `servers`: "127.0.0.1, [::1]:5353"; "" are the machine's. */
int resolver_open(struct loop *l, const char *servers, struct resolver **out,
    struct err *e) MUST_CHECK;
void resolver_close(struct resolver *r);

/*
 * Calls done(ctx) once, perhaps before it returns, unless the query is
 * cancelled first.  *query is NULL from then on.  An address resolves to
 * itself.
 *
 * `by` says who asks: a tenant whose names nobody answers must not fill the
 * servers' queue for the others.  A name counts until it is answered or given
 * up, also when its query was cancelled.
 */
void resolver_ask(struct resolver *r, const char *by, const char *host,
    resolved_fn *done, void *ctx, struct resolver_query **query);
void resolver_cancel(struct resolver_query **query);

#endif
