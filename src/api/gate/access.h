/*
 * access.h: authenticates a call by its API key or the dashboard's cookie.
 */
#ifndef SANDLEASE_API_GATE_ACCESS_H
#define SANDLEASE_API_GATE_ACCESS_H

#include "api/app.h"

/* The scope that a route needs; each one includes those before it. */
enum access_level { ACCESS_NONE, ACCESS_READ, ACCESS_TENANT, ACCESS_ADMIN };

extern const char *const ACCESS_NAMES[];

/* An API key, the dashboard's cookie, or a ticket (ticket.h). */
enum credential_kind { CREDENTIAL_KEY, CREDENTIAL_LOGIN, CREDENTIAL_TICKET };

extern const char *const CREDENTIAL_NAMES[]; /* the database's words */

/* The credential of a call, hashed. */
struct credential {
	char hash[TOKEN_HASH_HEX_MAX];
	enum credential_kind kind;
	bool given;
};

/*
 * Reads the call's credential.  ERR_UNAUTHENTICATED if there are two, or if it
 * cannot be a key of this service.  A call without a credential is success with
 * out->given = false.
 */
int access_credential(const struct call *c, struct credential *out,
    struct err *e) MUST_CHECK;

/* Sets the error for a call without a valid credential; always -1. */
int access_refused(struct err *e);

/* Authenticates the call and fills in app->who; -1: refused. */
int access_check(struct call *c, enum access_level needed, struct err *e)
    MUST_CHECK;

/* The same with a credential that the caller has read. */
int access_check_as(struct call *c, const struct credential *k,
    enum access_level needed, struct err *e) MUST_CHECK;

/* The level of a scope's word; ACCESS_NONE: there is no such scope. */
enum access_level access_scope_parse(const char *scope);

/* Whether a key with this scope may call a route that needs `needed`. */
bool access_scope_allows(const char *scope, enum access_level needed);

/*
 * Refuses a call whose Origin is not the dashboard's.  For calls that carry the
 * cookie and change something: they must come from the dashboard's pages.
 */
int access_same_origin(const struct call *c, struct err *e) MUST_CHECK;

/*
 * Refuses a call that is not made by a script of the dashboard's pages, such as
 * a navigation, an image, or a call from a page of another site.  The browser's
 * Sec-Fetch-* headers tell; browsers send them over TLS and on localhost only.
 */
int access_own_script(const struct call *c, struct err *e) MUST_CHECK;

/* The cookie's name; over TLS it has the prefix __Host-. */
const char *access_cookie_name(const struct call *c);

#endif
