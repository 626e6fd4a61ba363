/*
 * access.h: who asks, from headers or the dashboard's cookie.
 */
#ifndef SANDLEASE_API_GATE_ACCESS_H
#define SANDLEASE_API_GATE_ACCESS_H

#include "api/app.h"

/* Who may call a route; in the order of what they may do. */
enum access { ACCESS_NONE, ACCESS_READ, ACCESS_TENANT, ACCESS_ADMIN };

extern const char *const ACCESS_NAMES[];

/* A key, or what stands for one: the dashboard's cookie, a ticket (ticket.h). */
enum credential_kind { CREDENTIAL_KEY, CREDENTIAL_LOGIN, CREDENTIAL_TICKET };

extern const char *const CREDENTIAL_NAMES[]; /* as the database calls them */

/* A credential as it came: its hash. */
struct credential {
	char hash[TOKEN_HASH_HEX_MAX];
	enum credential_kind kind;
	bool given;
};

/*
 * Reads the credential.  Two at once, or one that cannot be ours, is
 * ERR_UNAUTHENTICATED; none is success with given = false.
 */
int access_credential(const struct call *c, struct credential *out,
    struct err *e) MUST_CHECK;

/* Says that there is none that counts; always -1. */
int access_refused(struct err *e);

/* Fills in app->who, or says why not. */
int access_check(struct call *c, enum access needed, struct err *e) MUST_CHECK;

/* The same with a credential that was read elsewhere. */
int access_check_as(struct call *c, const struct credential *k,
    enum access needed, struct err *e) MUST_CHECK;

/* True when a key of this scope may do that much. */
bool access_scope_allows(const char *scope, enum access needed);

/*
 * A mutating call that carries the cookie must come from our own pages:
 * its Origin must be ours.
 */
int access_same_origin(const struct call *c, struct err *e) MUST_CHECK;

/*
 * A call that a script of our own pages makes, by what the browser says of it
 * (Sec-Fetch-*): no navigation, no image, no other site's page.  Browsers say it
 * over TLS and on localhost only.
 */
int access_own_script(const struct call *c, struct err *e) MUST_CHECK;

/* The cookie's name: __Host- where there is TLS. */
const char *access_cookie_name(const struct call *c);

#endif
