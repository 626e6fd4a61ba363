/*
 * auth_cache.h: keeps what the database has answered to the pool `auth`.
 *
 * Only admissions are kept: a right that a client had a moment ago, until a date
 * that came with the answer, or until it is revoked (revocations.h).  A refusal
 * is never kept.  If the process that hears of revocations is away or late, so
 * that it could be more than REVOCATIONS_FRESH_US behind, nothing is found here
 * and the database is asked, as if there were no cache.
 *
 * A worker has a cache of its own, of a fixed size.  It has hashes of keys and
 * tokens, never the secrets.
 */
#ifndef SANDLEASE_API_GATE_AUTH_CACHE_H
#define SANDLEASE_API_GATE_AUTH_CACHE_H

#include "api/gate/access.h"
#include "api/gate/revocations.h"

struct auth_cache;

/* The answer to a client that may use a session. */
struct admission {
	const char *upstream;    /* the socket, as nginx names it */
	enum access_level scope; /* of the key; none for a preview */
	bool nameless;           /* the session may be given a name */
	const char
	    *by; /* the key's id, or the host that a preview's app hears */
	const char *text; /* the tenant, or for a preview the session's name */
};

/* A right that a client shows; the texts are the caller's. */
struct auth_right {
	const char *session;
	const char *port; /* "": of no port */
	const char *hash; /* of the key or of the preview's token */
	bool preview;     /* the hash is of a preview's token */
};

/* The state at the time of auth_cache_find(), for auth_cache_keep(). */
struct auth_lookup {
	int64_t at_us;
	bool fresh; /* the answer may be kept */
	struct revocations_stamp stamp;
};

/* Of at most `entries`; `r` outlives it. */
struct auth_cache *auth_cache_new(size_t entries, const struct revocations *r);
void auth_cache_free(struct auth_cache *a);

/*
 * The admission that was kept for this right; NULL: ask the database, then give
 * `l` to auth_cache_keep().  It holds until the next call of these functions.
 */
const struct admission *auth_cache_find(struct auth_cache *a,
    const struct auth_right *right, struct auth_lookup *l);

/*
 * Keeps an admission, with copies of its texts, for `keep_ms` from the time of
 * the lookup, unless the right was revoked since: the answer may be older than
 * that.
 */
void auth_cache_keep(struct auth_cache *a, const struct auth_right *right,
    const struct auth_lookup *l, const struct admission *what, int64_t keep_ms);

#endif
