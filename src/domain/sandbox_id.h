/*
 * sandbox_id.h: which sandbox a session lives in.
 *
 * The id is derived once, when the session is registered, and persisted; the
 * stored one always wins.  Its prefix alone says which class it belongs to,
 * at every lookup.
 */
#ifndef SANDLEASE_DOMAIN_SANDBOX_ID_H
#define SANDLEASE_DOMAIN_SANDBOX_ID_H

#include <stdbool.h>

#include "common/err.h"

enum {
	SANDBOX_ID_LEN = 52, /* prefix, '-', 48 hex digits */
	SANDBOX_ID_MAX = 256 /* legacy ids are raw and may be longer */
};

/* Who asks, and what for.  "" means there is none. */
struct sandbox_owner {
	const char *org;
	const char *user;
	const char *bot;
	const char *salt; /* of the owner, to move off a sick shared sandbox */
	const char *session;
};

/*
 * The id by the rules of the first match: isolated, bot of an org, bot of a
 * user, org, user.  Isolated sessions have a sandbox of their own.
 */
void sandbox_id_derive(const struct sandbox_owner *o, bool isolated,
    char out[SANDBOX_ID_MAX]);

/*
 * Whether this owner's sessions are isolated whatever they ask: the org, or
 * `*`, is on the list.  Without `*`, "no org" never matches.
 */
bool sandbox_id_isolated_by_list(const char *list, const char *org);

/* 0 for an id we may have stored; else an error that names the value. */
int sandbox_id_check(const char *id, struct err *e) MUST_CHECK;

/* True when the id's prefix says: one session only, class of its own. */
bool sandbox_id_is_isolated(const char *id);

#endif
