/*
 * sandbox_id.h: derives the id of the sandbox that a session lives in.
 *
 * The id is derived once, when the session is registered, and stored; from then
 * on the stored id counts.  The prefix of the id alone says which of the rules
 * of sandbox_id_derive() made it.
 */
#ifndef SANDLEASE_DOMAIN_SANDBOX_ID_H
#define SANDLEASE_DOMAIN_SANDBOX_ID_H

#include <stdbool.h>

#include "common/err.h"

enum {
	SANDBOX_ID_LEN = 52, /* prefix, '-', 48 hex digits */
	SANDBOX_ID_MAX = 256 /* legacy ids are not hashed and may be longer */
};

/* The owner of a session, and the session.  "": there is none. */
struct sandbox_owner {
	const char *org;
	const char *user;
	const char *bot;
	const char
	    *salt; /* of the owner; a new salt leads to a new shared sandbox */
	const char *session;
};

/*
 * Derives the id by the first rule that matches: isolated, bot of an org, bot
 * of a user, org, user.  An isolated session has a sandbox of its own.
 */
void sandbox_id_derive(const struct sandbox_owner *o, bool isolated,
    char out[SANDBOX_ID_MAX]);

/*
 * Whether all sessions of `org` are isolated, whatever the client asks for: the
 * org, or `*`, is on the list.  An empty `org` matches only `*`.
 */
bool sandbox_id_isolated_by_list(const char *list, const char *org);

/* 0: this service may have stored such an id; else the error names `id`. */
int sandbox_id_check(const char *id, struct err *e) MUST_CHECK;

/* Whether the id's prefix says: for one session, with a class of its own. */
bool sandbox_id_is_isolated(const char *id);

#endif
